// Special tokens, forms of texts and pairs, and chat templates of directories, and of the GGUF
// files that they are converted to.

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "weft/files/convert.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "safetensors/tiny_directory.h"

namespace weft::test {
namespace {

using Ids = std::vector<TokenId>;
using Types = std::vector<std::int32_t>;

// The vocabulary of a directory; the converted file must have the same.
std::shared_ptr<const Vocabulary> opened(const TinyDirectory& dir) {
  const Checkpoint from = dir.open();
  const TempFolder folder;
  const std::string path = folder / "converted.gguf";
  write_gguf(from, path);
  auto vocabulary = read_vocabulary(from);
  const auto converted = read_vocabulary(Checkpoint::open(path));
  CHECK(converted->forms() == vocabulary->forms());
  CHECK(converted->chat_template() == vocabulary->chat_template());
  CHECK(converted->tool_template() == vocabulary->tool_template());
  for (TokenId id = 0; id < vocabulary->size(); ++id) {
    CHECK(converted->ends_generation(id) == vocabulary->ends_generation(id));
    CHECK(converted->is_whole_word(id) == vocabulary->is_whole_word(id));
  }
  return vocabulary;
}

Json special(const char* token, int type = 0) {
  return {{"SpecialToken", {{"id", token}, {"type_id", type}}}};
}
Json sequence(const char* id, int type = 0) {
  return {{"Sequence", {{"id", id}, {"type_id", type}}}};
}

// Byte-level BPE of a, b and ab, with the special tokens <x>, <y>, <z>: ids 3, 4, 5.
struct ByteLevel : TinyDirectory {
  ByteLevel() {
    config["vocab_size"] = 6;
    tensors = {{"model.embed_tokens.weight", "F16", {6, 32}, 384}};
    tokenizer["added_tokens"] = Json::array();
    for (int id = 3; id < 6; ++id)
      tokenizer["added_tokens"].push_back({{"id", id}, {"content", text(id)}, {"special", true}});
    tokenizer_config = Json::object();
  }
  ByteLevel(const Json& single, const Json& pair) : ByteLevel() {
    Json tokens = Json::object();
    for (int id = 3; id < 6; ++id)
      tokens[text(id)] = {{"id", text(id)}, {"ids", {id}}, {"tokens", {text(id)}}};
    const Json form = {{"type", "TemplateProcessing"},
                       {"single", single},
                       {"pair", pair},
                       {"special_tokens", tokens}};
    tokenizer["post_processor"] = {{"type", "Sequence"},
                                   {"processors", {{{"type", "ByteLevel"}}, form}}};
  }
  static std::string text(int id) { return id == 3 ? "<x>" : id == 4 ? "<y>" : "<z>"; }
};

void check_texts(const TinyDirectory& dir, const Ids& text, const Ids& pair, const Types& types) {
  const auto tokenizer = make_tokenizer(opened(dir));
  CHECK(tokenizer->encode("ab") == text);
  CHECK(tokenizer->encode("ab", {.add_special = false}) == Ids{2});
  CHECK(tokenizer->encode_typed("ab").ids == text);
  CHECK(tokenizer->encode_pair("a", "b").ids == pair);
  CHECK(tokenizer->encode_pair("a", "b").types == types);
}

}  // namespace

TEST_CASE("texts have the tokens of the post-processor, not those of tokenizer_config.json") {
  const Json a = sequence("A"), b = sequence("B", 1);
  ByteLevel ends({a, special("<y>")}, {a, b, special("<y>", 1)});
  ends.tokenizer_config = {{"eos_token", "<x>"}, {"add_bos_token", false}};
  check_texts(ends, {2, 4}, {0, 1, 4}, {0, 1, 1});
  CHECK(opened(ends)->special().eos == 4);
  CHECK(opened(ends)->ends_generation(3));

  check_texts(ByteLevel({special("<x>"), special("<y>"), a}, {special("<x>"), a, b}), {3, 4, 2},
              {3, 0, 1}, {0, 0, 1});
  check_texts(ByteLevel({special("<x>", 2), a, special("<z>")}, {b, special("<x>"), a}), {3, 2, 5},
              {1, 3, 0}, {1, 0, 0});
  check_texts(ByteLevel(Json::array({a}), {a, b}), {2}, {0, 1}, {0, 1});

  ByteLevel unnamed({special("<x>"), a}, {special("<x>"), a, sequence("B")});
  check_texts(unnamed, {3, 2}, {3, 0, 1}, {});
  CHECK(opened(unnamed)->special().bos == 3);
  CHECK(opened(unnamed)->flags().add_bos);
}

TEST_CASE("add_bos_token and add_eos_token add tokens that the post-processor lacks") {
  const Json a = sequence("A"), b = sequence("B");
  const Json names = {{"bos_token", "<x>"}, {"eos_token", "<z>"}};
  ByteLevel adds;
  adds.tokenizer_config = names;
  adds.tokenizer_config["add_bos_token"] = adds.tokenizer_config["add_eos_token"] = true;
  check_texts(adds, {3, 2, 5}, {3, 0, 5, 3, 1, 5}, {0, 0, 0, 1, 1, 1});

  const auto removing = [&](const char* type) {
    ByteLevel dir({special("<x>"), a}, {special("<x>"), a, b});
    dir.tokenizer_config = names;
    dir.tokenizer_config.update({{"add_bos_token", false}, {"tokenizer_class", type}});
    return make_tokenizer(opened(dir))->encode("ab");
  };
  CHECK(removing("LlamaTokenizer") == Ids{2});
  CHECK(removing("PreTrainedTokenizerFast") == Ids{3, 2});

  ByteLevel llama;
  llama.tokenizer_config = names;
  llama.tokenizer_config["tokenizer_class"] = "LlamaTokenizerFast";
  CHECK(make_tokenizer(opened(llama))->encode("ab") == Ids{3, 2});
}

TEST_CASE("RoBERTa's pairs, and encoders without names of their tokens") {
  ByteLevel roberta;
  roberta.tokenizer["post_processor"] = {
      {"type", "RobertaProcessing"}, {"sep", {"<y>", 4}}, {"cls", {"<x>", 3}}};
  check_texts(roberta, {3, 2, 4}, {3, 0, 4, 4, 1, 4}, {});

  TinyDirectory bert;
  bert.config["vocab_size"] = 5;
  bert.tensors = {{"model.embed_tokens.weight", "F16", {5, 32}, 320}};
  bert.tokenizer = {
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[S]", 3}}, {"cls", {"[CLS]", 2}}}},
      {"added_tokens",
       {{{"id", 2}, {"content", "[CLS]"}, {"special", true}},
        {{"id", 3}, {"content", "[S]"}, {"special", true}}}},
      {"model",
       {{"type", "WordPiece"},
        {"vocab", {{"un", 0}, {"Un", 1}, {"[CLS]", 2}, {"[S]", 3}, {"[UNK]", 4}}}}}};
  bert.tokenizer_config = {{"do_lower_case", true}};
  const auto tokenizer = make_tokenizer(opened(bert));
  CHECK(tokenizer->encode("Un") == Ids{2, 0, 3});
  CHECK(tokenizer->encode_pair("un", "un").ids == Ids{2, 0, 3, 0, 3});
  CHECK(tokenizer->encode_pair("un", "un").types == Types{0, 0, 0, 1, 1});
  bert.tokenizer_config = {{"do_lower_case", false}};
  bert.write("tokenizer_config.json", bert.tokenizer_config.dump());
  CHECK(make_tokenizer(opened(bert))->encode("Un") == Ids{2, 1, 3});
  bert.write("tokenizer_config.json", R"({"tokenize_chinese_chars": false})");
  bert.tokenizer["model"]["vocab"]["\u4E2D\u4E2D"] = 1;
  bert.tokenizer["model"]["vocab"].erase("Un");
  bert.write("tokenizer.json", bert.tokenizer.dump());
  CHECK(make_tokenizer(opened(bert))->encode("\u4E2D\u4E2D") == Ids{2, 1, 3});
}

TEST_CASE("post-processors that cannot be followed are refused by name") {
  const auto error_of = [](const Json& single) {
    return ByteLevel(single, {sequence("A"), sequence("B")}).error();
  };
  CHECK(holds(error_of(Json::array({special("<x>")})), "must have one text once"));
  CHECK(holds(error_of({sequence("A"), sequence("A")}), "must have one text once"));
  CHECK(holds(error_of(Json::array({sequence("C")})), "'A' or 'B'"));
  CHECK(holds(error_of({sequence("A"), special("<none>")}), "must have the ids of '<none>'"));
  CHECK(holds(error_of(Json::array({Json::object()})), "which is not supported"));
  CHECK(holds(error_of("A"), "an array of at most"));
  CHECK(holds(error_of(Json::array({sequence("A", -1)})), "type_id"));
  ByteLevel outside;
  outside.tokenizer["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {"<y>", 6}}, {"cls", {"<x>", 3}}};
  CHECK(holds(outside.error(), "'post_processor.sep' must be ids below 6, got 6"));
  outside.write("tokenizer.json", [&] {
    outside.tokenizer["post_processor"] = {{"type", "Other"}};
    return outside.tokenizer.dump();
  }());
  CHECK(holds(outside.error(), "'post_processor' of type 'Other' is not supported"));
}

TEST_CASE("ids below 0 are none, and more than three tokens may end a reply") {
  ByteLevel dir;
  dir.config.update({{"pad_token_id", -1}, {"bos_token_id", -1}, {"eos_token_id", {1, -1}}});
  dir.write("generation_config.json", Json{{"eos_token_id", {0, 3, 4, 5, 99999}}}.dump());
  const auto v = opened(dir);
  CHECK(v->special().pad == kNoToken);
  CHECK(v->special().bos == kNoToken);
  for (const TokenId id : {0, 1, 3, 4, 5}) CHECK(v->ends_generation(id));
  CHECK_FALSE(v->ends_generation(2));
}

TEST_CASE("names in special_tokens_map.json, and tokens that are whole words") {
  ByteLevel dir;
  dir.write("special_tokens_map.json", Json{{"pad_token", {{"content", "<y>"}}}}.dump());
  dir.tokenizer["added_tokens"][2].update({{"content", "ab"}, {"single_word", true}});
  dir.tokenizer["added_tokens"][2].erase("special");
  dir.tokenizer["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"c", 2}};
  dir.tokenizer["model"]["merges"] = Json::array();
  const auto v = opened(dir);
  CHECK(v->special().pad == 4);
  const auto tokenizer = make_tokenizer(v);
  CHECK(tokenizer->encode("ab") == Ids{5});
  CHECK(tokenizer->encode("ab-ab") == Ids{5, 5});  // the vocabulary lacks "-"
  for (const char* word : {"abc", "cab", "ab_", "\u00E9ab", "ab1", "\u4E2Dab", "abab"}) {
    CAPTURE(word);
    const Ids ids = tokenizer->encode(word);
    CHECK(std::count(ids.begin(), ids.end(), 5) == 0);
  }
}

TEST_CASE("chat templates in all places, and one of their own for tools") {
  const Json both = {{"default", "d"}, {"tool_use", "t"}, {"rag", "r"}};
  Json list = Json::array();
  for (const auto& [name, text] : both.items())
    list.push_back({{"name", name}, {"template", text}});
  for (const Json& value : {both, list}) {
    ByteLevel dir;
    dir.tokenizer_config["chat_template"] = value;
    const auto v = opened(dir);
    CHECK(v->chat_template() == "d");
    CHECK(v->tool_template() == "t");
  }
  ByteLevel json;
  json.tokenizer_config["chat_template"] = "old";
  json.write("chat_template.json", R"({"chat_template": "new"})");
  CHECK(opened(json)->chat_template() == "new");
  CHECK(opened(json)->tool_template().empty());

  json.write("chat_template.json", "{}");
  CHECK(opened(json)->chat_template() == "old");
  json.write("chat_template.jinja", "newest");
  std::filesystem::create_directory(json.path() + "/additional_chat_templates");
  json.write("additional_chat_templates/tool_use.jinja", "tools");
  CHECK(opened(json)->chat_template() == "newest");
  CHECK(opened(json)->tool_template() == "tools");

  ByteLevel wrong;
  wrong.tokenizer_config["chat_template"] = {{"default", 3}};
  CHECK(holds(wrong.error(), "'chat_template.default' must be a text, got 3"));
  wrong.write("tokenizer_config.json", R"({"chat_template": [{"template": "x"}]})");
  CHECK(holds(wrong.error(), "'chat_template.name' must be a text, got nothing"));
}

}  // namespace weft::test
