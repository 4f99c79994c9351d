#include <algorithm>
#include <optional>

#include "weft/base/error.h"

#include "schema/schema_emitter.h"

namespace weft::grammar {
namespace {

constexpr std::size_t kMaxArrayStates = 50'000;
constexpr std::size_t kMaxContains = 6;  // each item is counted or not by each of them

// How many items there were, then how many of those that each of term.contains counts.
using Counts = std::vector<std::uint64_t>;

bool may_end(const Term& term, const Counts& counts) {
  bool enough = counts[0] >= term.min;
  for (std::size_t c = 0; c < term.contains.size(); ++c)
    enough &= counts[c + 1] >= term.contains[c].min;
  return enough;
}

// The counts after one more item, which counts for the bits of `which`; adds to `more` the literals
// that must then hold for it. Returns nullopt if it may not, or need not, count like this.
std::optional<Counts> count_item(const Term& term, Counts counts, std::uint32_t which,
                                 Conjunction& more) {
  ++counts[0];
  for (std::size_t c = 0; c < term.contains.size(); ++c) {
    const Term::Contains& contains = term.contains[c];
    const bool bounded = contains.max != Dfa::kUnbounded;
    std::uint64_t& n = counts[c + 1];
    if ((which >> c & 1) != 0) {
      if (bounded ? n >= contains.max : n >= contains.min) return std::nullopt;
      more.push_back(contains.what);
      ++n;
    } else if (bounded) {
      more.push_back(!contains.what);
    }
  }
  return counts;
}

}  // namespace

Piece SchemaEmitter::array(const Term& term) {
  check_count(term);
  if (term.unique != JsonTree::kNone && term.max > 1)
    expander_.unsupported(term.unique, "an automaton cannot remember previous items");
  std::uint64_t named = 0;
  for (const Term::Leaf& leaf : term.leaves) named = std::max(named, expander_.named_items(leaf));
  for (const auto& [at, literal] : term.items) named = std::max(named, at + 1);
  const Piece p = b_.piece();
  const StateId open = json_.mark(p.in, '[', false, true);
  const StateId close = b_.state();
  b_.byte(json_.space(close), ']', ']', p.out);
  if (!term.contains.empty()) {
    counted_items(term, named, open, close);
  } else {
    items(term, named, open, close);
  }
  return p;
}

void SchemaEmitter::items(const Term& term, std::uint64_t named, StateId at, StateId close) {
  if (term.min == 0) b_.skip(at, close);
  // The first item is always a named one, because it has no comma before it.
  named = std::max<std::uint64_t>(named, 1);
  for (std::uint64_t i = 0; i < std::min(named, term.max); ++i) {
    if (i > 0) at = json_.mark(at, ',', false, true);
    const StateId next = b_.state();
    b_.call(at, item(term, i, {}), next);
    at = next;
    if (i + 1 >= term.min) b_.skip(at, close);
  }
  if (term.max <= named) return;
  const StateId begin = b_.state();
  const StateId end = b_.state();
  b_.call(json_.mark(begin, ',', false, true), item(term, SchemaExpander::kRest, {}), end);
  const RuleId one = b_.add_rule("item", {begin, end});
  const Piece rest =
      b_.repeat(one, term.min > named ? term.min - named : 0,
                term.max == Dfa::kUnbounded ? GrammarBuilder::kUnbounded : term.max - named);
  b_.skip(at, rest.in);
  b_.skip(rest.out, close);
}

RuleId SchemaEmitter::item(const Term& term, std::uint64_t index, const Conjunction& more) {
  Conjunction what = more;
  for (const Term::Leaf& leaf : term.leaves) expander_.item_literals(leaf, index, what);
  for (const auto& [at, literal] : term.items)
    if (at == index) what.push_back(literal);
  return value(what);
}

void SchemaEmitter::counted_items(const Term& term, std::uint64_t named, StateId open,
                                  StateId close) {
  if (term.contains.size() > kMaxContains) {
    expander_.unsupported(term.contains[kMaxContains].what.node,
                          fmt::format("more than {} of them hold at once", kMaxContains));
  }
  const bool limited = term.max != Dfa::kUnbounded;
  // No items and some items are always different states, because commas separate items.
  const std::uint64_t most = std::max({std::uint64_t{1}, named, term.min, limited ? term.max : 0});
  std::map<Counts, StateId> known;
  std::vector<std::pair<Counts, StateId>> work;
  const auto state = [&](const Counts& counts) {
    const auto [it, added] = known.try_emplace(counts, 0);
    if (added) {
      it->second = work.empty() ? open : b_.state();
      work.push_back({counts, it->second});
      if (work.size() > kMaxArrayStates)
        expander_.unsupported(term.contains.front().what.node, "too many states");
    }
    return it->second;
  };
  state(Counts(term.contains.size() + 1, 0));
  for (std::size_t w = 0; w < work.size(); ++w) {
    const auto [counts, from] = work[w];
    if (may_end(term, counts)) b_.skip(from, close);
    if (limited && counts[0] >= term.max) continue;
    const StateId at = w == 0 ? from : json_.mark(from, ',', false, true);
    const std::uint64_t index = counts[0] < named ? counts[0] : SchemaExpander::kRest;
    for (std::uint32_t which = 0; which < (1U << term.contains.size()); ++which) {
      Conjunction more;
      if (auto next = count_item(term, counts, which, more)) {
        next->front() = std::min(next->front(), most);
        b_.call(at, item(term, index, more), state(*next));
      }
    }
  }
}

}  // namespace weft::grammar
