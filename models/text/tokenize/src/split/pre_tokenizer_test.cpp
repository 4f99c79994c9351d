#include "split/pre_tokenizer.h"

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/source_tree.h"

namespace weft::tokenize {
namespace {

struct Collect final : PieceSink {
  std::vector<std::string> pieces;
  void piece(std::string_view text) override { pieces.emplace_back(text); }
};

std::vector<std::string> split(std::string_view rule, std::string_view text) {
  Collect sink;
  const PreTokenizerRule* found = find_pre_tokenizer_rule(rule);
  REQUIRE(found != nullptr);
  pre_tokenize(found->stages, text, sink);
  return sink.pieces;
}

using Pieces = std::vector<std::string>;

TEST_CASE(
    "gpt-2: words and numbers take one space, the last of several spaces goes with the next word") {
  CHECK(split("gpt-2", "it's  1234 don'T\n\n x!? ") ==
        Pieces{"it", "'s", " ", " 1234", " don", "'", "T", "\n\n", " x", "!?", " "});
  CHECK(split("gpt-2", "a   ") == Pieces{"a", "   "});
}

TEST_CASE("single digits come first, so a number never includes a space") {
  CHECK(split("starcoder", "a 12  3") == Pieces{"a", " ", "1", "2", "  ", "3"});
}

TEST_CASE("llama 3: digits in threes, any character before a word, line ends after punctuation") {
  CHECK(split("llama-bpe", "I'LL pay $12345.\n\n\ttab (see)\n  end") ==
        Pieces{"I", "'LL", " pay", " $", "123", "45", ".\n\n", "\ttab", " (", "see", ")\n", " ",
               " end"});
  CHECK(split("llama-bpe", " \n \n  x") == Pieces{" \n \n", " ", " x"});
}

TEST_CASE("qwen2: as llama 3 with single digits, qwen35 keeps marks in words") {
  CHECK(split("qwen2", "x12") == Pieces{"x", "1", "2"});
  CHECK(split("qwen2", "e\u0301a") == Pieces{"e", "\u0301a"});
  CHECK(split("qwen35", "e\u0301a") == Pieces{"e\u0301a"});
}

TEST_CASE("gpt-4o: words split where case falls, contractions stay with them") {
  CHECK(split("gpt-4o", "HelloWorld XMLHttp it's ABC") ==
        Pieces{"Hello", "World", " XMLHttp", " it's", " ABC"});
  CHECK(split("gpt-4o", "A\u3042B") == Pieces{"A\u3042", "B"});
  CHECK(split("gpt-4o", "a/b//\n/c") == Pieces{"a", "/b", "//\n/", "c"});
  CHECK(split("tekken", "it's 123") == Pieces{"it", "'s", " ", "1", "2", "3"});
}

TEST_CASE("deepseek: line ends, words, punctuation, Han runs and digits one after the other") {
  CHECK(split("deepseek-coder", "a b\n\n12, \u4E2D\u6587x") ==
        Pieces{"a", " b", "\n", "\n", "1", "2", ",", " ", "\u4E2D\u6587", "x"});
  CHECK(split("deepseek-llm", "a \u4E2D\u6587 12  ") ==
        Pieces{"a", " ", "\u4E2D\u6587", " ", "12", "  "});
  CHECK(split("deepseek-v3", "x.foo 1234 \u3042\u3044") ==
        Pieces{"x", ".foo", " ", "123", "4", " ", "\u3042\u3044"});
}

TEST_CASE("falcon, bloom and the default rule") {
  CHECK(split("falcon", "a+b 12345 x`") == Pieces{"a", "+", "b", " ", "123", "45", " x", "`"});
  CHECK(split("falcon", "12345") == Pieces{"123", "45"});
  CHECK(split("default", "a 1234") == Pieces{"a", " ", "123", "4"});
  CHECK(split("bloom", "a, b  c") == Pieces{"a", ",", " b", " ", " c"});
}

TEST_CASE("published patterns agree with another regex engine") {
  std::ifstream lines(test::source_tree() / "models/text/tokenize/src/split/split_cases.jsonl");
  std::size_t n_cases = 0;
  for (std::string line; std::getline(lines, line); ++n_cases) {
    const auto row = nlohmann::json::parse(line);
    const auto pieces = row.at("pieces").get<Pieces>();
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    CAPTURE(line);
    CHECK(split(row.at("pre").get<std::string>(), text) == pieces);
  }
  CHECK(n_cases >= 500);
}

TEST_CASE("groups of three digits, from the right") {
  CHECK(split("afmoe", "x1234567 12½") == Pieces{"x", "1", "234", "567", " ", "12½"});
  CHECK(split("tiny_aya", "12345 12345x") == Pieces{"12", "345", " ", "123", "45", "x"});
  CHECK(split("superbpe", "a 1234, ½12345") == Pieces{"a ", "1", "234", ", ", "½12", "345"});
}

TEST_CASE("jais-2: long white space in halves") {
  const auto spaces = [](std::size_t n) { return std::string(n, ' '); };
  CHECK(split("jais-2", spaces(700) + "x") ==
        Pieces{spaces(512), spaces(128), spaces(32), spaces(16), spaces(8), spaces(2), " ", " x"});
  CHECK(split("jais-2", spaces(6)) == Pieces{spaces(4), spaces(2)});
}

TEST_CASE("the pieces are the text, under every rule, for any bytes") {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"a",      "Z",       "9",        " ",
                                          "\n",     "\r",      "\t",       "'",
                                          "s",      ".",       "$",        "/",
                                          "\u00E9", "e\u0301", "\u4E2D",   "\u3042",
                                          "\u2028", "\xFF",    "\xE2\x82", std::string(1, '\0')};
  for (const char* name :
       {"default",   "gpt-2",    "starcoder",  "llama3",      "qwen2",        "qwen35",
        "gpt-4o",    "tekken",   "seed-coder", "deepseek-v3", "deepseek-llm", "deepseek-coder",
        "falcon",    "bloom",    "viking",     "jais-2",      "youtu",        "kimi-k2",
        "superbpe",  "tiny_aya", "exaone-moe", "afmoe",       "laguna",       "minicpm5",
        "chameleon", "gemma4",   "whitespace"}) {
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (unsigned n = random() % 30; n > 0; --n) text += parts[random() % parts.size()];
      std::string joined;
      for (const std::string& piece : split(name, text)) {
        CHECK_FALSE(piece.empty());
        joined += piece;
      }
      CAPTURE(name);
      REQUIRE(joined == text);
    }
  }
}

TEST_CASE("long runs of one character take linear time under every rule") {
  // A rule that looks at a run again for each of its characters would need some 10^11 steps here.
  for (const char* name : {"default", "gpt-2", "starcoder", "llama3", "qwen35", "gpt-4o", "tekken",
                           "deepseek-v3", "deepseek-llm", "falcon", "viking", "jais-2", "kimi-k2",
                           "superbpe", "tiny_aya", "exaone-moe", "afmoe", "chameleon", "gemma4"}) {
    for (const std::string unit : {" ", "a", "A", "\n", "1", "'", "\u3042", "\xFF"}) {
      std::string text;
      for (int i = 0; i < 300000; ++i) text += unit;
      text += "x";
      CAPTURE(name);
      CAPTURE(unit);
      std::size_t n_bytes = 0;
      for (const std::string& piece : split(name, text)) n_bytes += piece.size();
      CHECK(n_bytes == text.size());
    }
  }
}

TEST_CASE("unknown names have no rule") {
  CHECK(find_pre_tokenizer_rule("no-such-rule") == nullptr);
  CHECK(find_pre_tokenizer_rule("") == &default_pre_tokenizer_rule());
}

}  // namespace
}  // namespace weft::tokenize
