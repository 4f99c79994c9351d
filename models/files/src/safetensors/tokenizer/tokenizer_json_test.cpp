// tokenizer.json and its neighbours: vocabularies as the keys of a GGUF file.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "safetensors/tiny_directory.h"
#include "safetensors/tokenizer/split_patterns.h"

using namespace weft;
using test::holds;
using test::Json;
using test::TinyDirectory;

namespace {

std::shared_ptr<const Vocabulary> vocabulary(const TinyDirectory& dir) {
  return read_vocabulary(dir.open());
}

// Six tokens, with a space of SentencePiece and a byte.
void make_sentencepiece(TinyDirectory& dir) {
  dir.config["vocab_size"] = 8;
  dir.tensors = {{"model.embed_tokens.weight", "F16", {8, 1}, 16}};
  dir.tokenizer = {
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}}}},
      {"added_tokens", {{{"id", 0}, {"content", "<s>"}, {"special", true}}}},
      {"model",
       {{"type", "BPE"},
        {"byte_fallback", true},
        {"unk_token", "<unk>"},
        {"vocab",
         {{"<s>", 0},
          {"<unk>", 1},
          {"<0x41>", 2},
          {"\u2581", 3},
          {"a", 4},
          {"\u2581a", 5},
          {"aa", 6}}},
        {"merges", Json::array({Json::array({"a", "a"}), Json::array({"\u2581", "a"})})}}}};
  dir.tokenizer_config = {{"bos_token", {{"content", "<s>"}}}};
}

}  // namespace

TEST_CASE("byte-level BPE: tokens, merges of both forms, special tokens") {
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    TinyDirectory dir;
    if (pairs) dir.tokenizer["model"]["merges"] = Json::array({Json::array({"a", "b"})});
    const auto v = vocabulary(dir);
    CHECK(v->kind() == "gpt2");
    CHECK(v->pre() == "gpt-2");
    REQUIRE(v->size() == 4);
    CHECK(v->text(2) == "ab");
    CHECK(v->type(2) == TokenType::normal);
    CHECK(v->type(3) == TokenType::control);
    REQUIRE(v->n_merges() == 1);
    CHECK(v->merge(0) == "a b");
    CHECK(v->special().eos == 3);
    CHECK(v->special().bos == kNoToken);
    CHECK_FALSE(v->flags().add_bos);
    CHECK(make_tokenizer(v)->encode("abba") == std::vector<TokenId>{2, 1, 0});
  }
}

TEST_CASE("SentencePiece in the form of BPE: scores from ranks, bytes, the space before") {
  TinyDirectory dir;
  make_sentencepiece(dir);
  const auto v = vocabulary(dir);
  CHECK(v->kind() == "llama");
  CHECK(v->type(0) == TokenType::control);
  CHECK(v->type(1) == TokenType::unknown);
  CHECK(v->type(2) == TokenType::byte);
  CHECK(v->type(7) == TokenType::unused);
  CHECK(v->text(7) == "[PAD7]");
  CHECK(v->score(6) > v->score(5));  // its merge comes first
  CHECK(v->special().unk == 1);
  CHECK(v->special().bos == 0);
  CHECK(v->flags().add_bos);
  CHECK(v->flags().add_space_prefix);
  const auto tokenizer = make_tokenizer(v);
  CHECK(tokenizer->encode("aaA") == std::vector<TokenId>{0, 3, 6, 2});
  CHECK(tokenizer->encode("a", {.add_special = false}) == std::vector<TokenId>{5});
}

TEST_CASE("Unigram: scores, the character map, spaces") {
  TinyDirectory dir;
  dir.tokenizer = {
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Precompiled"}, {"precompiled_charsmap", "BAAAAAAAAABhAA=="}},
          {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}}}}},
      {"pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "always"}}},
      {"added_tokens", {{{"id", 3}, {"content", "<e>"}, {"special", true}}}},
      {"model",
       {{"type", "Unigram"},
        {"unk_id", 0},
        {"vocab", Json::array({Json::array({"<unk>", 0}), Json::array({"\u2581", -1.5}),
                               Json::array({"a", -2.5})})}}}};
  const auto v = vocabulary(dir);
  CHECK(v->kind() == "t5");
  CHECK(v->score(2) == -2.5F);
  CHECK(v->type(0) == TokenType::unknown);
  CHECK(v->special().unk == 0);
  CHECK(v->flags().add_space_prefix);
  CHECK(v->flags().remove_extra_whitespaces);
  CHECK(v->charsmap() == std::string("\4\0\0\0\0\0\0\0a\0", 10));

  TinyDirectory plain;
  plain.tokenizer = dir.tokenizer;
  plain.tokenizer["normalizer"]["normalizers"].erase(0);
  CHECK(make_tokenizer(vocabulary(plain))->encode(" a  a", {.add_special = false}) ==
        std::vector<TokenId>{1, 2, 1, 2});
}

TEST_CASE("WordPiece: words are marked, their later parts are not") {
  TinyDirectory dir;
  dir.tokenizer = {
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}, {"strip_accents", nullptr}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[S]", 3}}, {"cls", {"[C]", 2}}}},
      {"added_tokens",
       {{{"id", 2}, {"content", "[C]"}, {"special", true}},
        {{"id", 3}, {"content", "[S]"}, {"special", true}}}},
      {"model",
       {{"type", "WordPiece"}, {"vocab", {{"un", 0}, {"##do", 1}, {"[C]", 2}, {"[S]", 3}}}}}};
  dir.tokenizer_config = {{"cls_token", "[C]"}, {"sep_token", "[S]"}};
  const auto v = vocabulary(dir);
  CHECK(v->kind() == "bert");
  CHECK(v->text(0) == "\u2581un");
  CHECK(v->text(1) == "do");
  CHECK(v->flags().strip_accents);
  CHECK(make_tokenizer(v)->encode("UNDO un") == std::vector<TokenId>{2, 0, 1, 0, 3});
  dir.tokenizer.erase("post_processor");
  dir.write("tokenizer.json", dir.tokenizer.dump());
  const auto bare = vocabulary(dir);
  CHECK(!bare->flags().add_sep);
  CHECK(make_tokenizer(bare)->encode("un") == std::vector<TokenId>{0});
}

TEST_CASE("added tokens that absorb adjacent white space") {
  TinyDirectory dir;
  make_sentencepiece(dir);
  dir.tokenizer["added_tokens"] =
      Json::array({{{"id", 0}, {"content", "<s>"}, {"special", true}},
                   {{"id", 6}, {"content", "aa"}, {"lstrip", true}, {"rstrip", false}},
                   {{"id", 7}, {"content", "<e>"}, {"special", true}, {"rstrip", true}}});
  const auto v = vocabulary(dir);
  CHECK(v->strips_left(6));
  CHECK(!v->strips_right(6));
  CHECK(v->strips_right(7));
  CHECK(!v->strips_left(7));
  CHECK(!v->strips_left(0));
  const auto tokenizer = make_tokenizer(v);
  const EncodeOptions bare{.add_special = false, .parse_special = true};
  CHECK(tokenizer->encode("<e>  a", bare) == tokenizer->encode("<e>a", bare));
}

TEST_CASE("WordPiece: the unknown token is not a word, even if it is not an added token") {
  TinyDirectory dir;
  dir.tokenizer = {
      {"normalizer", {{"type", "BertNormalizer"}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"model",
       {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", {{"un", 0}, {"[UNK]", 1}}}}}};
  const auto v = vocabulary(dir);
  CHECK(v->text(1) == "[UNK]");
  CHECK(v->type(1) == TokenType::unknown);
  CHECK(make_tokenizer(v)->encode("un x") == std::vector<TokenId>{0, 1});
}

TEST_CASE("keys in several files: names before ids, the newer file before the older") {
  TinyDirectory dir;
  dir.config.update({{"eos_token_id", 0}, {"bos_token_id", 1}});
  dir.tokenizer_config = {{"add_bos_token", true}, {"chat_template", "old"}};
  dir.write("generation_config.json", Json{{"eos_token_id", {2, 3}}}.dump());
  auto v = vocabulary(dir);
  CHECK(v->special().bos == 1);
  CHECK(v->special().eos == 2);
  CHECK(v->ends_generation(3));
  CHECK(v->ends_generation(0));
  CHECK(v->flags().add_bos);
  CHECK(v->chat_template() == "old");

  TinyDirectory named;
  named.config["eos_token_id"] = 0;
  named.tokenizer_config["chat_template"] = {{{"name", "tools"}, {"template", "x"}},
                                             {{"name", "default"}, {"template", "y"}}};
  v = vocabulary(named);
  CHECK(v->special().eos == 3);
  CHECK(v->ends_generation(0));
  CHECK(v->chat_template() == "y");

  TinyDirectory file;
  file.tokenizer_config["chat_template"] = "old";
  file.write("chat_template.jinja", "new");
  CHECK(vocabulary(file)->chat_template() == "new");
}

TEST_CASE("without tokenizer.json there are only ids") {
  TinyDirectory dir;
  dir.open();
  std::filesystem::remove(std::filesystem::path(dir.path()) / "tokenizer.json");
  const auto v = read_vocabulary(Checkpoint::open(dir.path()));
  CHECK_FALSE(v->has_texts());
  CHECK(v->size() == 4);
}

TEST_CASE("patterns are known by the names of GGUF") {
  const std::string llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", llama3}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const std::string file = "f";
  const auto name = [&](const Json& stages, bool ignore_merges) {
    std::vector<safetensors::JsonObject> all;
    for (const Json& stage : stages) all.emplace_back(stage, file);
    return std::string(safetensors::find_byte_level_name(all, ignore_merges));
  };
  CHECK(name({split, bytes}, true) == "llama-bpe");
  CHECK(name({split, bytes}, false) == "smaug-bpe");
  Json words = bytes;
  words["use_regex"] = true;
  CHECK(name({{{"type", "Digits"}, {"individual_digits", true}}, words}, false) == "smollm");
  CHECK(name({{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
              words,
              {{"type", "Digits"}, {"individual_digits", false}},
              {{"type", "Split"},
               {"pattern", {{"Regex", "[0-9][0-9][0-9]"}}},
               {"behavior", "Isolated"},
               {"invert", false}}},
             false) == "falcon");
  Json kept = split;
  kept.update({{"behavior", "Removed"}, {"invert", true}});
  CHECK(name({kept, bytes}, true) == "llama-bpe");

  Json lines = split;  // line ends as they are
  std::string text = llama3;
  for (std::size_t at = 0; (at = text.find("\\r\\n")) != std::string::npos;)
    text.replace(at, 4, "\r\n");
  lines["pattern"]["Regex"] = text;
  CHECK(name({lines, bytes}, true) == "llama-bpe");

  CHECK(name(Json::array({words}), true).empty());  // no rule for this pattern ignores merges
  Json other = split;
  other["pattern"]["Regex"] = "x+";
  CHECK(name({other, bytes}, false).empty());
  other["behavior"] = "MergedWithNext";
  CHECK(name({other, bytes}, false).empty());
  CHECK(name({{{"type", "Whitespace"}}}, false).empty());
  CHECK(name(Json::array({bytes}), false).empty());
  words["add_prefix_space"] = true;
  CHECK(name(Json::array({words}), false).empty());
}

TEST_CASE("invalid tokenizers are rejected by name") {
  const auto error_with = [](const char* pointer, const Json& value) {
    TinyDirectory dir;
    dir.tokenizer[Json::json_pointer(pointer)] = value;
    return dir.error();
  };
  const std::string file = "DIR/tokenizer.json: ";
  CHECK(error_with("/model", nullptr) == file + "'model' must be an object, got nothing");
  CHECK(error_with("/model/type", "Letters") ==
        file +
            "a tokenizer of type 'Letters' is not supported (supported: BPE, Unigram, WordPiece, "
            "WordLevel)");
  CHECK(error_with("/model/vocab", nullptr) ==
        file + "'model.vocab' must be an object, got nothing");
  CHECK(holds(error_with("/model/vocab/a", -1), "'model.vocab.a' must be a whole number, got -1"));
  CHECK(error_with("/model/vocab/a", 4) == file + "token 'a' has id 4, the model has 4 tokens");
  CHECK(holds(error_with("/model/vocab/a", std::uint64_t{1} << 40), "has id 1099511627776"));
  CHECK(error_with("/model/vocab/a", 1) == file + "token 'b' has id 1, but so has 'a'");
  CHECK(error_with("/added_tokens/0/id", 0) == file + "token '<e>' has id 0, but so has 'a'");
  CHECK(error_with("/added_tokens/0/content", "a") == file + "token 'a' has id 3, but id 0, too");
  CHECK(holds(error_with("/added_tokens/0/content", ""), "must be a text"));
  CHECK(holds(error_with("/added_tokens", 3), "'added_tokens' must be an array, got 3"));
  CHECK(holds(error_with("/model/merges", nullptr), "'model.merges' must be an array"));
  for (const Json& merge :
       {Json("ab"), Json("a "), Json(""), Json(3), Json::array({"a"}), Json::array({"a", 1})}) {
    CHECK(holds(error_with("/model/merges/0", merge), "must hold pairs of texts"));
  }
  CHECK(holds(error_with("/model/merges/0", Json::array({"a b", "c"})), "contains a space"));
  CHECK(holds(error_with("/normalizer", {{"type", "Fold"}}),
              "'normalizer' of type 'Fold' is not supported"));

  TinyDirectory dir;
  dir.tokenizer_config["eos_token"] = 3;
  CHECK(holds(dir.error(), "tokenizer_config.json: 'eos_token' must be a string, got 3"));
  TinyDirectory ids;
  ids.config["pad_token_id"] = "x";
  CHECK(holds(ids.error(), "config.json: 'pad_token_id' must be a token id"));
}
