#include "compiled_grammar.h"

#include <algorithm>

#include "weft/base/error.h"

#include "compile_work.h"

namespace weft::grammar {
namespace {

// States and edges of one grammar. The largest schemas in use need some hundred thousand.
constexpr std::size_t kMaxSize = 8'000'000;
// Longer repetitions are built from shorter ones.
constexpr std::uint64_t kChunk = 64;

}  // namespace

RuleId GrammarBuilder::add_rule(std::string name) {
  count_one();
  rules_.push_back({std::move(name), {0, 0}, false});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId GrammarBuilder::add_rule(std::string name, Piece body) {
  const RuleId rule = add_rule(std::move(name));
  define(rule, body);
  return rule;
}

void GrammarBuilder::define(RuleId rule, Piece body) {
  rules_[rule].body = body;
  rules_[rule].defined = true;
}

void GrammarBuilder::count_one() {
  if (++size_ > kMaxSize)
    fail<BudgetError>("the grammar needs more than {} states and edges", kMaxSize);
  // Each is made, copied, sorted, and visited by the searches of finish().
  CompileWork::add(4);
}

StateId GrammarBuilder::state() {
  count_one();
  return n_states_++;
}

Piece GrammarBuilder::piece() {
  const StateId in = state();
  return {in, state()};
}

void GrammarBuilder::skip(StateId from, StateId to) {
  count_one();
  skips_.push_back({from, to});
}

void GrammarBuilder::byte(StateId from, std::uint8_t lo, std::uint8_t hi, StateId to) {
  count_one();
  bytes_.push_back({from, {lo, hi, to}});
}

void GrammarBuilder::call(StateId from, RuleId rule, StateId to) {
  count_one();
  calls_.push_back({from, {rule, to}});
}

void GrammarBuilder::token(StateId from, std::int32_t id, bool negated, StateId to) {
  count_one();
  tokens_.push_back({from, {id, negated, to}});
}

void GrammarBuilder::text(StateId from, std::string_view bytes, StateId to) {
  if (bytes.empty()) return skip(from, to);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const StateId next = i + 1 == bytes.size() ? to : state();
    const auto b = static_cast<std::uint8_t>(bytes[i]);
    byte(from, b, b, next);
    from = next;
  }
}

Piece GrammarBuilder::call(RuleId rule) {
  const Piece p = piece();
  call(p.in, rule, p.out);
  return p;
}

Piece GrammarBuilder::chain(Piece a, Piece b) {
  skip(a.out, b.in);
  return {a.in, b.out};
}

Piece GrammarBuilder::optional(Piece inner) {
  const Piece p = piece();
  skip(p.in, inner.in);
  skip(inner.out, p.out);
  skip(p.in, p.out);
  return p;
}

Piece GrammarBuilder::plus(Piece inner) {
  const Piece p = piece();
  skip(p.in, inner.in);
  skip(inner.out, inner.in);
  skip(inner.out, p.out);
  return p;
}

Piece GrammarBuilder::star(Piece inner) {
  return optional(plus(inner));
}

Piece GrammarBuilder::exactly(RuleId rule, std::uint64_t n) {
  if (n > kChunk) {
    const RuleId chunk = add_rule(name(rule), exactly(rule, kChunk));
    return chain(exactly(chunk, n / kChunk), exactly(rule, n % kChunk));
  }
  const StateId in = state();
  StateId at = in;
  for (std::uint64_t i = 0; i < n; ++i) {
    const StateId next = state();
    call(at, rule, next);
    at = next;
  }
  return {in, at};
}

Piece GrammarBuilder::up_to(RuleId rule, std::uint64_t n) {
  const Piece p = piece();
  if (n <= kChunk) {
    StateId at = p.in;
    for (std::uint64_t i = 0; i < n; ++i) {
      skip(at, p.out);
      const StateId next = state();
      call(at, rule, next);
      at = next;
    }
    skip(at, p.out);
    return p;
  }
  // Fewer than all whole chunks and a beginning of one more, or all of them and the rest.
  const RuleId chunk = add_rule(name(rule), exactly(rule, kChunk));
  const Piece fewer = chain(up_to(chunk, n / kChunk - 1), up_to(rule, kChunk - 1));
  const Piece all = chain(exactly(chunk, n / kChunk), up_to(rule, n % kChunk));
  for (const Piece& part : {fewer, all}) {
    skip(p.in, part.in);
    skip(part.out, p.out);
  }
  return p;
}

Piece GrammarBuilder::repeat(RuleId rule, std::uint64_t min, std::uint64_t max) {
  const Piece first = exactly(rule, min);
  const Piece rest = max == kUnbounded ? star(call(rule)) : up_to(rule, max - min);
  return chain(first, rest);
}

}  // namespace weft::grammar
