// A compiled grammar as part of another one.

#include <fmt/format.h>

#include "compiled_grammar.h"

namespace weft::grammar {
namespace {

// The last state of the rule that begins at `start`; `start` itself if its end was removed because
// the rule allows nothing. The states of a rule are reached from its start by its own edges.
StateId end_of(const CompiledGrammar& p, StateId start, std::vector<bool>& seen) {
  std::vector<StateId> work{start};
  const auto visit = [&](StateId s) {
    if (!seen[s]) seen[s] = true, work.push_back(s);
  };
  seen[start] = true;
  while (!work.empty()) {
    const StateId s = work.back();
    work.pop_back();
    if (p.ends[s]) return s;
    for (const auto& edge : p.bytes.of(s)) visit(edge.to);
    for (const auto& edge : p.calls.of(s)) visit(edge.to);
    for (const auto& edge : p.tokens.of(s)) visit(edge.to);
    for (const StateId to : p.skips.of(s)) visit(to);
  }
  return start;
}

}  // namespace

void GrammarBuilder::define(RuleId rule, const CompiledGrammar& compiled) {
  const StateId first_state = n_states_;
  const auto first_rule = static_cast<RuleId>(rules_.size());
  for (std::size_t s = 0; s < compiled.n_states(); ++s) state();
  std::vector<bool> seen(compiled.n_states(), false);
  for (std::size_t r = 0; r < compiled.rules.size(); ++r) {
    const StateId start = compiled.rules[r].start;
    const StateId end = end_of(compiled, start, seen);
    const RuleId copy = add_rule(fmt::format("{}[{}]", name(rule), r));
    define(copy, end == start && !compiled.ends[start]
                     ? piece()
                     : Piece{first_state + start, first_state + end});
  }
  for (StateId s = 0; s < compiled.n_states(); ++s) {
    const StateId from = first_state + s;
    for (const auto& e : compiled.bytes.of(s)) byte(from, e.lo, e.hi, first_state + e.to);
    for (const auto& e : compiled.calls.of(s)) call(from, first_rule + e.rule, first_state + e.to);
    for (const auto& e : compiled.tokens.of(s)) token(from, e.token, e.negated, first_state + e.to);
    for (const StateId to : compiled.skips.of(s)) skip(from, first_state + to);
  }
  define(rule, call(first_rule + compiled.root));
}

}  // namespace weft::grammar
