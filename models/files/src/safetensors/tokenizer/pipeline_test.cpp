// Every component and flag of tokenizer.json: read, harmless, or refused by name.

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/utf8.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/byte_map.h"
#include "weft/tokenize/tokenizer.h"

#include "safetensors/tiny_directory.h"
#include "safetensors/tokenizer/components.h"
#include "support/source_tree.h"

using namespace weft;
using test::holds;
using test::Json;
using test::TinyDirectory;

namespace {

struct Known {
  const char* stage;
  std::vector<const char*> types;
};
// The types of tokenizers 0.23.2, by their stage.
const std::vector<Known> kKnown = {
    {"normalizer",
     {"BertNormalizer", "Strip", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Sequence",
      "Lowercase", "Nmt", "Precompiled", "Replace", "Prepend", "ByteLevel"}},
    {"pre_tokenizer",
     {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Metaspace", "Whitespace", "Sequence",
      "Split", "Punctuation", "WhitespaceSplit", "Digits", "UnicodeScripts", "FixedLength"}},
    {"model", {"BPE", "WordPiece", "WordLevel", "Unigram"}},
    {"post_processor",
     {"RobertaProcessing", "BertProcessing", "ByteLevel", "TemplateProcessing", "Sequence"}},
    {"decoder",
     {"BPEDecoder", "ByteLevel", "WordPiece", "Metaspace", "CTC", "Sequence", "Replace", "Fuse",
      "Strip", "ByteFallback"}}};

// A component with everything that it needs.
Json complete(const std::string& stage, const std::string& type) {
  Json json = {{"type", type},
               {"pattern", {{"String", "x"}}},
               {"behavior", "Isolated"},
               {"content", " "},
               {"delimiter", "-"},
               {"replacement", "\u2581"},
               {"prepend", "x"},
               {"length", 2},
               {"precompiled_charsmap", "BAAAAAAAAABhAA=="},
               {"suffix", ""},
               {"prefix", ""},
               {"cls", {"a", 0}},
               {"sep", {"b", 1}},
               {"single", {{{"Sequence", {{"id", "A"}}}}}},
               {"normalizers", Json::array()},
               {"pretokenizers", Json::array()},
               {"processors", Json::array()},
               {"decoders", Json::array()}};
  for (const safetensors::ComponentRow& row : safetensors::component_rows()) {
    if (row.stage != stage || row.type != type) continue;
    const Json all = json;
    for (const auto& [key, value] : all.items())
      if (key != "type" && !safetensors::is_one_of(key, row.keys)) json.erase(key);
  }
  return json;
}

std::string error_with(const std::string& stage, const Json& component) {
  TinyDirectory dir;
  dir.tokenizer[stage] = component;
  // It removes a space of the whole text, not of each token.
  if (component.value("type", "") == "Strip" && stage == "decoder")
    dir.tokenizer[stage] = {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}, component}}};
  return dir.error();
}

// Makes all bytes tokens, as they are in files of byte-level BPE.
void add_bytes(TinyDirectory& dir) {
  Json& vocab = dir.tokenizer["model"]["vocab"];
  auto n = dir.config["vocab_size"].get<std::int64_t>();
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(tokenize::byte_as_text(static_cast<std::uint8_t>(byte)));
    if (!vocab.contains(text)) vocab[text] = n++;
  }
  dir.config["vocab_size"] = n;
  dir.tensors[0].shape = {n, 2};
  dir.tensors[0].n_bytes = static_cast<std::size_t>(n) * 4;
}

std::vector<TokenId> ids_of(const TinyDirectory& dir, const std::string& text) {
  const auto tokenizer = make_tokenizer(read_vocabulary(dir.open()));
  return tokenizer->encode(text, {.add_special = false, .parse_special = true});
}

}  // namespace

TEST_CASE("every component that the library knows is read, harmless or refused by name") {
  using safetensors::ComponentUse;
  std::size_t n = 0;
  for (const Known& stage : kKnown) {
    for (const std::string type : stage.types) {
      CAPTURE(type);
      const auto rows = safetensors::component_rows();
      const auto row = std::ranges::find_if(
          rows, [&](const auto& r) { return r.stage == stage.stage && r.type == type; });
      REQUIRE(row != rows.end());
      ++n;
      if (row->stage == safetensors::kModel) continue;
      const std::string error = error_with(stage.stage, complete(stage.stage, type));
      if (row->use == ComponentUse::refused) {
        CHECK(error == fmt::format("DIR/tokenizer.json: '{}' of type '{}' is not supported",
                                   stage.stage, type));
      } else {
        CHECK(error == "");
      }
    }
  }
  CHECK(n == safetensors::component_rows().size());
}

TEST_CASE("a key of a component that is not known is refused by name, unless it is off") {
  for (const safetensors::ComponentRow& row : safetensors::component_rows()) {
    if (row.stage == safetensors::kModel || row.use == safetensors::ComponentUse::refused) continue;
    CAPTURE(row.type);
    const std::string stage(row.stage);
    Json component = complete(stage, std::string(row.type));
    component["novelty"] = false;
    CHECK(error_with(stage, component) == "");
    component["novelty"] = 3;
    CHECK(holds(error_with(stage, component), "novelty' is 3: this key is not known"));
  }
  CHECK(holds(error_with("novelty", {{"a", 1}}), "'novelty'"));
  TinyDirectory dir;
  dir.tokenizer["model"]["novelty"] = "x";
  CHECK(holds(dir.error(), "'model.novelty'"));
  TinyDirectory token;
  token.tokenizer["added_tokens"][0]["novelty"] = true;
  CHECK(holds(token.error(), "'added_tokens.novelty'"));
  TinyDirectory dropout;
  dropout.tokenizer["model"]["dropout"] = 0.1;
  CHECK(holds(dropout.error(), "'model.dropout' is 0.1"));
}

TEST_CASE("settings of components that are not supported are refused by name") {
  const Json split = {{"type", "Split"}, {"behavior", "Isolated"}};
  Json pattern = split, behavior = split;
  pattern["pattern"] = {{"Regex", "(a|b)+"}};
  behavior["pattern"] = {{"String", "a"}};
  behavior["behavior"] = "Sideways";
  CHECK(holds(error_with("pre_tokenizer", pattern), "this 'pattern' is not supported"));
  CHECK(holds(error_with("pre_tokenizer", behavior), "this 'behavior' is not supported"));
  CHECK(holds(
      error_with("pre_tokenizer",
                 {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "last"}}),
      "this 'prepend_scheme' is not supported"));
  CHECK(holds(error_with("normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a*"}}}}),
              "this 'pattern' is not supported"));
  CHECK(holds(error_with("decoder",
                         {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}}),
              "a decoder"));
}

TEST_CASE("random tokenizers give the ids of the library for random texts") {
  std::ifstream lines(test::source_tree() /
                      "models/files/src/safetensors/tokenizer/pipeline_cases.jsonl");
  std::size_t n_texts = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json c = Json::parse(line);
    TinyDirectory dir;
    dir.tokenizer = c["tokenizer"];
    dir.tokenizer_config = Json::object();
    dir.config["vocab_size"] = c["size"];
    const auto n_bytes = c["size"].get<std::size_t>() * 4;
    dir.tensors = {
        {"model.embed_tokens.weight", "F16", {c["size"].get<std::int64_t>(), 2}, n_bytes}};
    const auto tokenizer = make_tokenizer(read_vocabulary(dir.open()));
    for (std::size_t i = 0; i < c["texts"].size(); ++i) {
      const auto text = c["texts"][i].get<std::string>();
      CAPTURE(text);
      CAPTURE(c["tokenizer"]["normalizer"].dump());
      CAPTURE(c["tokenizer"]["pre_tokenizer"].dump());
      CHECK(tokenizer->encode(text, {.add_special = false, .parse_special = true}) ==
            c["ids"][i].get<std::vector<TokenId>>());
      ++n_texts;
    }
  }
  CHECK(n_texts > 400);
}

TEST_CASE("tokenizers whose rules begin with a run of characters") {
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto split = [](const char* regex) {
    return Json{{"type", "Split"},
                {"pattern", {{"Regex", regex}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  };
  const Json v3 = Json::array(
      {split(R"(\p{N}{1,3})"), split("[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"),
       split(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?)"
             R"([\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
       bytes});
  const Json superbpe = Json::array({split(R"(\p{N}+)"), split(R"((?=(\d{3})+(?!\d)))"), bytes});
  const Json falcon = Json::array({{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
                                   {{"type", "ByteLevel"}, {"add_prefix_space", false}},
                                   {{"type", "Digits"}, {"individual_digits", false}},
                                   split("[0-9][0-9][0-9]")});
  for (const auto& [name, stages] : {std::pair("deepseek-v3", v3), std::pair("superbpe", superbpe),
                                     std::pair("falcon", falcon)}) {
    CAPTURE(name);
    for (const char* normalizer : {"", "NFC"}) {  // the kind, and the pipeline
      TinyDirectory dir;
      add_bytes(dir);
      dir.tokenizer["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", stages}};
      if (*normalizer) dir.tokenizer["normalizer"] = {{"type", normalizer}};
      REQUIRE(dir.error() == "");
      const auto v = read_vocabulary(dir.open());
      CHECK(v->pre() == name);
      // Falcon's rule for digits sees written bytes, of which "\u00C2\u00B3" is one.
      CHECK((v->pipeline() != nullptr) == (*normalizer != 0 || stages == falcon));
      CHECK(make_tokenizer(v)->encode("abab", {.add_special = false}) ==
            std::vector<TokenId>{2, 2});
    }
  }
}

TEST_CASE("the character map belongs to every type of model") {
  TinyDirectory dir;
  dir.tokenizer["normalizer"] = {{"type", "Precompiled"},
                                 {"precompiled_charsmap", "BAAAAAAAAABhAA=="}};
  CHECK(read_vocabulary(dir.open())->charsmap() == std::string("\4\0\0\0\0\0\0\0a\0", 10));
}

TEST_CASE("hostile steps: too many, or such that multiply a text") {
  TinyDirectory many;
  const Json digits = {{"type", "Digits"}};
  many.tokenizer["pre_tokenizer"] = {{"type", "Sequence"},
                                     {"pretokenizers", std::vector<Json>(100, digits)}};
  CHECK(many.error() == "DIR/tokenizer.json: 'pre_tokenizer' has more than 32 components");
  TinyDirectory growing;
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}};
  growing.tokenizer["pre_tokenizer"] = {{"type", "Sequence"},
                                        {"pretokenizers", std::vector<Json>(30, bytes)}};
  const auto tokenizer = make_tokenizer(read_vocabulary(growing.open()));
  CHECK_THROWS_AS(tokenizer->encode("\u00E9"), ValueError);
}

TEST_CASE("hostile steps: replacements that multiply a text, and runs of marks") {
  TinyDirectory growing;
  const Json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  growing.tokenizer["normalizer"] = {{"type", "Sequence"},
                                     {"normalizers", std::vector<Json>(20, twice)}};
  const auto grows = make_tokenizer(read_vocabulary(growing.open()));
  CHECK_THROWS_AS(grows->encode("a"), ValueError);

  TinyDirectory composing;  // takes minutes if marks are sorted by exchanges of neighbours
  composing.tokenizer["normalizer"] = {{"type", "NFC"}};
  std::string marks;
  for (int i = 0; i < 100'000; ++i) marks += "\u0301\u0316";
  const auto tokenizer = make_tokenizer(read_vocabulary(composing.open()));
  CHECK_NOTHROW(tokenizer->encode("a" + marks + "ab"));
}

TEST_CASE("without a decoder, tokens are words") {
  TinyDirectory dir;
  dir.tokenizer["model"] = {
      {"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"unk_token", "b"}};
  dir.tokenizer["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  const auto tokenizer = make_tokenizer(read_vocabulary(dir.open()));
  const auto ids = tokenizer->encode("ab a  ab", {.add_special = false});
  CHECK(ids == std::vector<TokenId>{2, 0, 2});
  CHECK(tokenizer->decode(ids) == " ab a ab");
}

TEST_CASE("decoders that change texts in other ways are refused") {
  CHECK(
      holds(error_with("decoder",
                       {{"type", "Replace"}, {"pattern", {{"Regex", "\u2581"}}}, {"content", " "}}),
            "a decoder"));
  CHECK(holds(error_with("decoder", {{"type", "Strip"}, {"stop", 1}}), "a decoder"));
  CHECK(holds(error_with("decoder", {{"type", "Strip"}, {"content", "x"}, {"start", 1}}),
              "a decoder"));
  CHECK(holds(error_with("decoder", {{"type", "WordPiece"}, {"prefix", "@@"}}), "a decoder"));
  CHECK(holds(error_with("decoder", {{"type", "BPEDecoder"}, {"suffix", "_"}}), "a decoder"));
  TinyDirectory each;  // strips every token, not the text
  each.tokenizer["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  CHECK(holds(each.error(), "a decoder"));
}

TEST_CASE("a template without a form for pairs encodes texts and refuses pairs") {
  TinyDirectory dir;
  dir.tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                     {"single", {{{"Sequence", {{"id", "A"}}}}}},
                                     {"pair", Json::array()}};
  CHECK(ids_of(dir, "ab") == std::vector<TokenId>{2});
  const auto tokenizer = make_tokenizer(read_vocabulary(dir.open()));
  CHECK_THROWS_WITH_AS(tokenizer->encode_pair("a", "b"),
                       "the tokenizer has no form for pairs of texts", UnsupportedError);
}

TEST_CASE("special tokens are not found in foreign ranges, normalized or not") {
  TinyDirectory dir;
  dir.tokenizer["normalizer"] = {{"type", "Lowercase"}};
  for (const bool normalized : {false, true}) {
    CAPTURE(normalized);
    dir.tokenizer["added_tokens"][0]["normalized"] = normalized;
    dir.write("tokenizer.json", dir.tokenizer.dump());
    const auto tokenizer = make_tokenizer(read_vocabulary(dir.open()));
    const std::vector<TextRange> foreign = {{1, 6}};
    const EncodeOptions all{.add_special = false, .parse_special = true};
    const EncodeOptions some{.add_special = false, .parse_special = true, .foreign = foreign};
    CHECK(tokenizer->encode("ab<e>ab", all) == std::vector<TokenId>{2, 3, 2});
    const std::vector<TokenId> without = tokenizer->encode("ab<e>ab", some);
    CHECK(std::ranges::count(without, 3) == 0);
  }
}
