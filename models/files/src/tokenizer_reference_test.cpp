// Token ids of the reference data: the trained story model, vocabularies of all kinds that are
// known here, and files that lie.
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "support/reference.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;
constexpr EncodeOptions kBare{.add_special = false};
constexpr EncodeOptions kSpecial{.add_special = false, .parse_special = true};
constexpr EncodeOptions kAdded{.add_special = true, .parse_special = true};

std::shared_ptr<const Tokenizer> open(const std::filesystem::path& path) {
  return make_tokenizer(read_vocabulary(Checkpoint::open(path.string())));
}

void check_row(const Tokenizer& tokenizer, const nlohmann::json& row) {
  const auto text = row.at("text").get<std::string>();
  CAPTURE(text);
  CHECK(tokenizer.encode(text, kBare) == row.at("ids").get<Ids>());
  if (row.contains("ids_special"))
    CHECK(tokenizer.encode(text, kSpecial) == row.at("ids_special").get<Ids>());
  if (row.contains("ids_added"))
    CHECK(tokenizer.encode(text, kAdded) == row.at("ids_added").get<Ids>());
}

TEST_CASE("the story model's texts") {
  const auto dir = test::reference("models/stories260k");
  if (!dir) return;
  const auto tokenizer = open(*dir / "stories260K-f32.gguf");
  const auto expected = nlohmann::json::parse(std::ifstream(*dir / "expected.json"));
  for (const auto& row : expected.at("tokenize")) {
    const auto text = row.at("text").get<std::string>();
    CAPTURE(text);
    // U+2581 is the space of this kind, in a text as in a token; the reference of these cases,
    // which reads the model's original tokenizer file, takes it for an unknown character.
    if (text.find("\u2581") != std::string::npos) continue;
    const Ids ids = tokenizer->encode(text);
    CHECK(ids == row.at("ids_with_bos").get<Ids>());
    CHECK(tokenizer->decode(ids, {.strip_space_prefix = true}) == text);
  }
}

TEST_CASE("generated vocabularies") {
  const auto dir = test::reference("golden/archs");
  if (!dir) return;
  for (const char* name :
       {"llama-spm-vocab", "gpt2-bpe-vocab", "qwen2-bpe-vocab", "bert-wpm-vocab", "t5-ugm-vocab"}) {
    CAPTURE(name);
    const auto tokenizer = open(*dir / (std::string(name) + ".gguf"));
    const auto golden = nlohmann::json::parse(std::ifstream(*dir / (std::string(name) + ".json")));
    for (const auto& row : golden.at("tokenizer_cases")) {
      // The engine that these come from takes a form feed for a space where BERT removes it.
      const bool departs = tokenizer->vocabulary().kind() == "bert" &&
                           row.at("text").get<std::string>().find('\f') != std::string::npos;
      if (!departs) check_row(*tokenizer, row);
    }
  }
}

TEST_CASE("published vocabularies") {
  const auto root = test::reference("golden/tokenizers");
  const auto vocabularies = test::reference("vocab");
  if (!root || !vocabularies) return;
  for (const char* name : {"llama-spm", "mistral-v3", "gpt-2", "gpt-neox", "llama-bpe", "qwen2",
                           "starcoder", "deepseek-coder"}) {
    CAPTURE(name);
    const std::string stem = std::string("ggml-vocab-") + name;
    const auto tokenizer = open(*vocabularies / (stem + ".gguf"));
    std::ifstream rows(*root / (stem + ".jsonl"));
    for (std::string line; std::getline(rows, line);) {
      const auto row = nlohmann::json::parse(line);
      if (!row.contains("text")) continue;
      check_row(*tokenizer, row);
      const auto text = row.at("text").get<std::string>();
      if (text.find("\u2581") != std::string::npos) continue;
      CHECK(tokenizer->decode(tokenizer->encode(text, kBare), {.strip_space_prefix = true}) ==
            text);
    }
  }
}

TEST_CASE("files with an inconsistent vocabulary") {
  const auto dir = test::reference("malformed");
  if (!dir) return;
  for (const char* name : {"model-bos-out-of-range", "model-eos-out-of-range"}) {
    CAPTURE(name);
    const auto tokenizer = open(*dir / (std::string(name) + ".gguf"));
    CHECK(tokenizer->warnings().size() == 1);
    CHECK_FALSE(tokenizer->encode("Once upon a time").empty());
  }
  for (const char* name : {"model-scores-wrong-elem-type", "model-scores-u8"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(open(*dir / (std::string(name) + ".gguf")), Error);
  }
  const auto tokenizer = open(*dir / "model-token-not-utf8.gguf");
  CHECK(tokenizer->decode(tokenizer->encode("abc"), {.strip_space_prefix = true}) == "abc");
}

}  // namespace
}  // namespace weft
