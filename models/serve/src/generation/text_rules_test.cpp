#include "weft/serve/text_rules.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/sample/sampler.h"
#include "weft/serve/shown_logprobs.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

// Byte b is token b; some words are tokens, too.
std::shared_ptr<const Tokenizer> tokenizer() {
  static const auto made = make_tokenizer(test::byte_level_vocabulary());
  return made;
}

std::string shown(TextRules& rules, std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) {
    rules.show(piece, out);
    out += '|';
  }
  return out;
}

TEST_CASE("a possible start of a stop string is held back") {
  TextRules rules(*tokenizer(), {.stops = {"END", "no no"}});
  CHECK(shown(rules, {"The ", "E", "N", "d of it"}) == "The |||ENd of it|");
  CHECK_FALSE(rules.stopped());
  CHECK(shown(rules, {" n", "o n", "o n", "ever"}) == " ||||");  // "no no" came
  CHECK(rules.stopped());
  rules.reset();
  CHECK(shown(rules, {"x", "EN"}) == "x||");
  std::string rest;
  rules.flush(rest);
  CHECK(rest == "EN");
  rules.reset();
  CHECK(shown(rules, {"fiENDish", "more"}) == "fi||");
  rest.clear();
  rules.flush(rest);
  CHECK(rest.empty());
}

TEST_CASE("texts of which nothing is shown are counted") {
  TextRules rules(*tokenizer(), {.stops = {"END"}});
  std::vector<std::int64_t> counts;
  std::string out;
  const auto show = [&](std::initializer_list<std::string_view> pieces) {
    counts.clear();
    for (const std::string_view piece : pieces) {
      rules.show(piece, out);
      counts.push_back(rules.n_unshown());
    }
    return counts;
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(show({"a", "", "E", "N", "", "d", "xE", "", "E", "x"}) ==
        Counts{0, 0, 1, 2, 3, 0, 0, 1, 2, 0});
  CHECK(show({"E", "E", "N", "D!"}) == Counts{1, 1, 2, 3});
  CHECK(rules.stopped());
  rules.flush(out);
  CHECK(rules.n_unshown() == 3);
  rules.reset();
  CHECK(show({"xE", "N"}) == Counts{0, 1});
  rules.flush(out);
  CHECK(rules.n_unshown() == 0);
}

TEST_CASE("log-probabilities end where the text ends") {
  ShownLogprobs shown;
  const auto ids = [&](TokenId id, std::int64_t n_unshown, StopReason stop) {
    const TokenLogprobs row{.chosen = {.token = id}, .top = {}};
    std::vector<TokenId> found;
    for (const TokenLogprobs& r : shown.push(id == kNoToken ? nullptr : &row, n_unshown, stop))
      found.push_back(r.chosen.token);
    return found;
  };
  using TokenIds = std::vector<TokenId>;
  CHECK(ids(1, 0, StopReason::none) == TokenIds{1});
  CHECK(ids(2, 1, StopReason::none).empty());
  CHECK(ids(3, 2, StopReason::none).empty());
  CHECK(ids(4, 1, StopReason::none) == TokenIds{2, 3});
  CHECK(ids(5, 2, StopReason::stop_string).empty());
  CHECK(ids(kNoToken, 0, StopReason::end_of_text).empty());
  CHECK(ids(6, 1, StopReason::none).empty());
  CHECK(ids(kNoToken, 0, StopReason::end_of_text) == TokenIds{6});
}

TEST_CASE("accepted tokens report stop strings that were not shown") {
  TextRules rules(*tokenizer(), {.stops = {"abc"}});
  for (const char c : {'a', 'b'}) rules.accept(c);
  CHECK_FALSE(rules.at_stop());
  rules.accept('c');
  CHECK(rules.at_stop());
}

TEST_CASE("a banned string is never completed") {
  TextRules rules(*tokenizer(), {.banned = {"hello", "b!"}});
  const auto allowed = [&](TokenId id) {
    std::vector<float> logits(static_cast<std::size_t>(tokenizer()->vocabulary().size()), 0.0F);
    rules.restrict(logits);
    return std::isfinite(logits[static_cast<std::size_t>(id)]);
  };
  const TokenId hello = tokenizer()->encode("hello").front();
  CHECK_FALSE(allowed(hello));
  CHECK(allowed('o'));
  for (const char c : {'h', 'e', 'l', 'l'}) rules.accept(c);
  CHECK_FALSE(allowed('o'));
  CHECK(allowed('!'));
  rules.accept('b');
  CHECK_FALSE(allowed('!'));
  CHECK(allowed('o'));
}

TEST_CASE("copies share a grammar and follow their own texts") {
  TextRules first(*tokenizer(), {.grammar = Grammar::from_regex("(ab|ac){3}")});
  first.accept('a');
  TextRules second = first;
  CHECK_FALSE(first.accept('b'));
  CHECK_FALSE(second.accept('c'));
  TextRules third = second;
  for (TextRules* rules : {&first, &third, &second}) {
    CHECK_THROWS_AS(rules->accept('b'), ValueError);
    for (const char c : {'a', 'b', 'a'}) CHECK_FALSE(rules->accept(c));
  }
  for (TextRules* rules : {&second, &first, &third}) CHECK(rules->accept('c'));
}

TEST_CASE("copies that are prepared in slices allow what each would alone") {
  const auto grammar =
      Grammar::from_gbnf("root ::= [ab]* (\"(\" root \")\" | [a-c]+ | \"ab\" root)?");
  Random random(7);
  const auto is_next = [&](std::uint64_t one_in) { return random.next() % one_in == 0; };
  TextRules first(*tokenizer(), {.grammar = grammar});
  std::vector<TextRules> copies(4, first), alone;
  for (std::size_t i = 0; i < copies.size(); ++i)
    alone.emplace_back(*tokenizer(), TextRulesOptions{.grammar = grammar});
  const auto n_tokens = static_cast<std::size_t>(tokenizer()->vocabulary().size());
  for (int round = 0; round < 300; ++round) {
    const std::size_t i = random.next() % copies.size();
    while (!copies[i].prepare(1 + random.next() % 200)) {
      CHECK_FALSE(copies[i].is_prepared());
      if (is_next(20)) copies[random.next() % copies.size()].prepare(1);
    }
    CHECK(copies[i].is_prepared());
    std::vector<float> logits(n_tokens, 0.0F), want = logits;
    copies[i].restrict(logits);
    alone[i].restrict(want);
    REQUIRE(logits == want);
    std::vector<TokenId> allowed;
    for (std::size_t id = 0; id < n_tokens; ++id)
      if (std::isfinite(logits[id])) allowed.push_back(static_cast<TokenId>(id));
    REQUIRE_FALSE(allowed.empty());
    const TokenId chosen = allowed[random.next() % allowed.size()];
    const bool over = alone[i].accept(chosen);
    REQUIRE(copies[i].accept(chosen) == over);
    if (!over) continue;
    copies[i].reset();
    alone[i].reset();
  }
}

TEST_CASE("forced text is found, except for its last token") {
  TextRules rules(*tokenizer(), {.grammar = Grammar::from_regex("xyz(a|b)")});
  CHECK(rules.forced() == std::vector<TokenId>{'x', 'y'});
  TextRules banned(*tokenizer(), {.grammar = Grammar::from_regex("xyz(a|b)"), .banned = {"never"}});
  CHECK(banned.forced().empty());
}

}  // namespace
}  // namespace weft
