#include "weft/grammar/token_constraint.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/sample/sampler.h"

#include "matcher.h"
#include "support/reference.h"
#include "support/vocabulary.h"

namespace weft {
namespace {

using grammar::ConfigId;
using grammar::Matcher;

// All bytes, and some tokens that cross the borders of rules.
std::shared_ptr<const Tokenizer> small_tokenizer() {
  test::VocabularyBuilder builder;
  builder.parts.kind = "llama";
  for (int byte = 0; byte < 256; ++byte)
    builder.add(fmt::format("<0x{:02X}>", byte), TokenType::byte, 0);
  for (const char* text :
       {"\"",  "{\"", "\":",      "\",\"",      "ab", "abc",   "b\"",  "\"}",      "[[",    "]]",
        "],[", "1",   "12",       "true",       "tr", "null,", "aab",  "(",        ")",     "((",
        "))",  "+1",  "\xC3\xA9", "\xC3\xA9\"", "a1", "}}",    ", \"", "{\"a\": ", "\": \""})
    builder.add(text, TokenType::normal, 0);
  builder.parts.special.eos = builder.add("</s>", TokenType::control, 0);
  builder.add("<tool>", TokenType::control, 0);
  return make_tokenizer(builder.build());
}

// Without a mask, accept() allows the same; in slices, the mask is the same.
void check_slices(TokenConstraint& sliced, const std::vector<TokenId>& allowed, Random& random) {
  const TokenConstraint::Place place = sliced.place();
  for (TokenId id = 0; id < 300; ++id) {
    REQUIRE(sliced.accept(id) == std::ranges::binary_search(allowed, id));
    REQUIRE(sliced.return_to(place));
  }
  while (!sliced.prepare_mask(1 + random.next() % 100))
    REQUIRE_FALSE(sliced.has_mask(sliced.place()));
  REQUIRE(sliced.has_mask(sliced.place()));
}

void check_masks(const std::shared_ptr<const Grammar>& g, std::uint64_t seed) {
  static const auto tokenizer = small_tokenizer();
  static const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  TokenConstraint constraint(g, tree), sliced(g, tree);
  Random random(seed);
  std::string text;
  for (int step = 0; step < 40; ++step) {
    std::vector<TokenId> allowed;
    Matcher matcher(g->compiled());
    const ConfigId here = matcher.feed(matcher.start(), text);
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      bool expected;
      if (vocabulary.ends_generation(id))
        expected = g->accepts(text);
      else
        expected =
            !tokenizer->hidden(id) && matcher.feed(here, tokenizer->bytes(id)) != Matcher::kDead;
      CAPTURE(text);
      CAPTURE(id);
      REQUIRE(constraint.allows(id) == expected);
      if (expected) allowed.push_back(id);
    }
    // No dead ends: something is always allowed.
    REQUIRE_FALSE(allowed.empty());
    check_slices(sliced, allowed, random);
    const auto mask = sliced.mask();
    REQUIRE(std::ranges::equal(mask, constraint.mask()));
    const TokenId chosen = allowed[random.next() % allowed.size()];
    REQUIRE(constraint.accept(chosen));
    REQUIRE(sliced.accept(chosen));
    if (vocabulary.ends_generation(chosen)) {
      CHECK(g->accepts(text));
      return;
    }
    text += tokenizer->bytes(chosen);
  }
}

// An object with members that may all be left out: m0, m1, ...
std::string optional_members(int n, bool closed) {
  std::string schema = R"({"type": "object", "properties": {)";
  for (int i = 0; i < n; ++i) schema += fmt::format("{}\"m{}\": {{}}", i == 0 ? "" : ",", i);
  return schema + (closed ? R"(}, "additionalProperties": false})" : "}}");
}

TEST_CASE("masks allow exactly the tokens that can lead to a text of the grammar") {
  const std::shared_ptr<const Grammar> grammars[] = {
      Grammar::from_gbnf("root ::= \"(\" root? \")\" | [0-9]+ (\"+\" root)?"),
      Grammar::from_gbnf("root ::= s\ns ::= \"a\" s s | \"ab\" | \"abc\""),
      Grammar::from_gbnf("root ::= (x | y)* \"\\\"\"\nx ::= \"a\"? \"ab\"\ny ::= [^a\"]{1,3}"),
      Grammar::from_gbnf("root ::= \"[\" (root (\",\" root)*)? \"]\""),
      Grammar::from_json_schema(R"({"type": "object", "properties": {"a": {"type": "string",
          "maxLength": 5}, "ab": {"type": "array", "items": {"type": "boolean"}}},
          "additionalProperties": {"type": "integer"}})"),
      Grammar::from_json_schema(R"({"type": "array", "items": {"type": ["boolean", "array"],
          "items": {"const": 12}}, "minItems": 1, "maxItems": 3, "contains": {"const": true}})"),
      Grammar::from_regex("(a|ab)*(12|1|\xC3\xA9)+"),
      Grammar::from_json_schema(optional_members(30, false)),
      Grammar::from_json_schema(optional_members(30, true)),
  };
  for (const auto& g : grammars)
    for (std::uint64_t seed = 0; seed < 5; ++seed) check_masks(g, seed);
}

TEST_CASE("a grammar that takes too many steps for a mask or a text is an error") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  // Every place of a text has other ways to read what was there before.
  const auto g = Grammar::from_gbnf("root ::= [ab]* \"a\" [ab]{300}");
  const TokenId ab = tokenizer->vocabulary().find("ab");
  SUBCASE("of a mask") {
    TokenConstraint constraint(g, tree, {.mask = 100});
    const auto prepare = [&] {
      while (!constraint.prepare_mask(10)) {
      }
    };
    CHECK_THROWS_AS(prepare(), BudgetError);
    CHECK(constraint.accept(ab));  // that is possible all the same
  }
  SUBCASE("of a text") {
    const auto write = [&](std::uint64_t per_token) {
      TokenConstraint constraint(g, tree, {.text = 20'000, .token = per_token});
      for (int i = 0; i < 100; ++i) {
        constraint.mask();
        REQUIRE(constraint.accept(ab));
      }
    };
    CHECK_THROWS_AS(write(10), BudgetError);
    write(100'000);
  }
  SUBCASE("of a text that is read again") {
    TokenConstraint constraint(g, tree, {.text = 20'000, .token = 10});
    const auto write = [&] {
      for (int i = 0; i < 10'000; ++i) REQUIRE(constraint.accept_again(ab));
      constraint.mask();
    };
    CHECK_THROWS_AS(write(), BudgetError);  // 100,000 more if they were counted
  }
}

TEST_CASE("what is read ahead does not depend on what was read before") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  std::string text = "root ::= \"ab\" (";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{}\"abc{}\"", i == 0 ? "" : " | ", i);
  const auto g = Grammar::from_gbnf(text + ")");
  TokenConstraint first(g, tree), second(g, tree);
  second.mask();
  REQUIRE(second.accept(tokenizer->vocabulary().find("ab")));
  second.mask();
  second.reset();
  CHECK(first.forced(100) == second.forced(100));
  CHECK(first.forced(100) == "a");  // behind "b" there is much to look at
}

// The work of a mask shows in the memory that the matcher needs for it.
TEST_CASE("members that may be left out cost linear work") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const auto memory = [&](int n) {
    const auto g = Grammar::from_json_schema(optional_members(n, true));
    TokenConstraint constraint(g, tree);
    REQUIRE(constraint.accept(tokenizer->vocabulary().find("{\"")));
    constraint.mask();
    return static_cast<double>(constraint.memory());
  };
  const double small = memory(200), large = memory(2000);
  CHECK(large / small < 15);  // 100 if every member were examined with all that follow
}

// Feeds a text token by token and returns how long each mask took, in microseconds.
std::vector<double> mask_times(TokenConstraint& constraint, std::span<const TokenId> ids) {
  std::vector<double> times;
  constraint.reset();
  for (const TokenId id : ids) {
    const auto start = std::chrono::steady_clock::now();
    constraint.mask();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
    REQUIRE(constraint.accept(id));
  }
  std::sort(times.begin(), times.end());
  return times;
}

TEST_CASE("several texts under one constraint, each resumed at its place") {
  const auto tokenizer = small_tokenizer();
  TokenConstraint constraint(Grammar::from_gbnf("root ::= \"(\" root \")\" | \"1\"+"),
                             std::make_shared<const TokenTree>(*tokenizer));
  const auto allowed = [&] {
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < tokenizer->vocabulary().size(); ++id)
      if (constraint.allows(id)) ids.push_back(id);
    return ids;
  };
  const auto write = [&](std::string_view text) {
    for (const TokenId id : tokenizer->encode(text, {.add_special = false}))
      REQUIRE(constraint.accept(id));
  };
  constraint.reset();
  write("((1");
  const auto nested = constraint.place();
  const auto after_nested = allowed();
  constraint.reset();
  const auto start = constraint.place();
  const auto at_start = allowed();
  write("11");
  const auto after_ones = allowed();
  const auto ones = constraint.place();
  CHECK(after_nested != after_ones);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(constraint.return_to(nested));
    CHECK(allowed() == after_nested);
    REQUIRE(constraint.return_to(ones));
    CHECK(allowed() == after_ones);
    REQUIRE(constraint.return_to(start));
    CHECK(allowed() == at_start);
  }
  REQUIRE(constraint.return_to(nested));
  write("1))");
  CHECK(constraint.may_end());
  CHECK(!constraint.may_continue());
  // A place from before memory was freed.
  CHECK(!constraint.return_to({nested.at, nested.epoch + 1}));
  CHECK(constraint.may_end());
}

TEST_CASE("masks over a large vocabulary") {
  const auto path = test::reference("vocab/ggml-vocab-qwen2.gguf");
  if (!path) return;
  const Checkpoint file = Checkpoint::open(path->string());
  const auto tokenizer = make_tokenizer(read_vocabulary(file));
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  struct Case {
    const char* schema;
    const char* text;
  };
  const Case cases[] = {
      {"true",
       R"({"name": "A longer string with words in it", "list": [1, 2.5, -3e4, {"deep": [null, true]}]})"},
      {R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 40},
           "age": {"type": "integer", "minimum": 0, "maximum": 150}, "tags": {"type": "array",
           "items": {"enum": ["red", "green", "blue"]}}}, "required": ["name"]})",
       R"({"name": "A string whose length is bounded", "age": 42, "tags": ["red", "blue"]})"},
  };
  for (const Case& c : cases) {
    TokenConstraint constraint(Grammar::from_json_schema(c.schema), tree);
    const auto ids = tokenizer->encode(c.text, {.add_special = false});
    const auto cold = mask_times(constraint, ids);
    const auto warm = mask_times(constraint, ids);
    CHECK(constraint.may_end());
    MESSAGE(tokenizer->vocabulary().size()
            << " tokens, masks in us, median and worst: first text " << cold[cold.size() / 2]
            << ", " << cold.back() << "; again " << warm[warm.size() / 2] << ", " << warm.back());
  }
}

TEST_CASE("tokens that a grammar names") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const TokenId tool = tokenizer->vocabulary().find("<tool>");
  const auto g = Grammar::from_gbnf(
      "root ::= <tool> \"ab\" !<tool>",
      {.find_token = [&](std::string_view text) { return tokenizer->vocabulary().find(text); }});
  TokenConstraint constraint(g, tree);
  CHECK(constraint.allows(tool));
  CHECK_FALSE(constraint.allows(tokenizer->vocabulary().find("ab")));
  CHECK(constraint.accept(tool));
  CHECK(constraint.forced(10) == "ab");
  CHECK(constraint.accept(tokenizer->vocabulary().find("ab")));
  CHECK_FALSE(constraint.allows(tool));
  CHECK(constraint.accept(tokenizer->vocabulary().find("abc")));
  CHECK(constraint.may_end());
  CHECK_FALSE(constraint.may_continue());
}

TEST_CASE("any token but one: excludes tokens that end the text, unless the text may end") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  const TokenId end = vocabulary.find("</s>");
  const auto g = Grammar::from_gbnf(
      "root ::= !<tool>* <tool> !<tool>?",
      {.find_token = [&](std::string_view text) { return vocabulary.find(text); }});
  TokenConstraint constraint(g, tree);
  for (const char* text : {"", "ab", "tr"}) {
    if (*text) CHECK(constraint.accept(vocabulary.find(text)));
    CHECK_FALSE(constraint.allows(end));
    CHECK_FALSE(constraint.accept(end));
    CHECK(constraint.allows(vocabulary.find("ab")));
  }
  CHECK(constraint.accept(vocabulary.find("<tool>")));
  CHECK(constraint.allows(end));
  CHECK(constraint.accept(end));
  CHECK(constraint.accept(vocabulary.find("ab")));  // the end was not a token of the grammar
  CHECK_FALSE(constraint.may_continue());
}

TEST_CASE("many excluded tokens cost no more than two") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const auto steps_of = [&](int n) {
    std::string text = "root ::= ";
    for (int i = 0; i < n; ++i) text += fmt::format("{}!<t{}>", i == 0 ? "" : " | ", i);
    TokenId next = 0;
    const auto g =
        Grammar::from_gbnf(text, {.find_token = [&](std::string_view) { return next++; }});
    TokenConstraint constraint(g, tree);
    CHECK(constraint.allows(0) == (n > 1));
    return constraint.steps();
  };
  CHECK(steps_of(200) < steps_of(2) + 200 * 10);  // 200 times the vocabulary if each were looked at
}

TEST_CASE("forced bytes and logits") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  TokenConstraint constraint(Grammar::from_json_schema(R"({"const": {"ab": true, "b": 12}})"),
                             tree);
  CHECK(constraint.accept(tokenizer->vocabulary().find("{\"")));
  CHECK(constraint.forced(100) == "ab\":");
  CHECK(constraint.forced(3) == "ab\"");
  std::vector<float> logits(static_cast<std::size_t>(tokenizer->vocabulary().size()) + 3, 1.0F);
  constraint.apply(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool allowed = i + 3 < logits.size() && constraint.allows(static_cast<TokenId>(i));
    CHECK((logits[i] == 1.0F) == allowed);
  }
  std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
  CHECK_THROWS_AS(constraint.apply(logits), ValueError);
  CHECK_FALSE(constraint.accept(tokenizer->vocabulary().find("12")));
}

TEST_CASE("a constraint frees masks when memory is short and refuses new ones") {
  const auto tokenizer = small_tokenizer();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  const auto g = Grammar::from_gbnf("root ::= \"a\"{400}");
  Ledger& ledger = process_ledger();
  const TokenId a = tokenizer->vocabulary().find("<0x61>");
  const auto write = [&](std::int64_t room) {
    const std::int64_t before = ledger.used();
    ledger.set_limit(before + room);
    std::int64_t most = 0;
    {
      TokenConstraint constraint(g, tree);
      for (int i = 0; i < 300; ++i) {
        static_cast<void>(constraint.mask());
        REQUIRE(constraint.accept(a));
        most = std::max(most, ledger.used() - before);
      }
    }
    CHECK(ledger.used() == before);
    return most;
  };
  const std::int64_t all = write(std::int64_t{1} << 40);
  CHECK(write(all / 4) < all / 2);
  CHECK_THROWS_AS(write(10), LedgerError);
  ledger.set_limit(std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace weft
