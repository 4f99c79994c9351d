// Turns the contents of a builder into a grammar that the matcher can read by.

#include <algorithm>

#include "weft/base/error.h"

#include "compiled_grammar.h"

namespace weft::grammar {

class GrammarBuilder::Finisher {
 public:
  Finisher(GrammarBuilder& b, RuleId root) : b_(b), root_(root) {}

  CompiledGrammar run(bool refuse_left_recursion_anywhere) {
    // Unused rules may have no body; they get one state without edges.
    for (RuleUnderWork& rule : b_.rules_)
      if (!rule.defined) rule.body = b_.piece();
    rule_of_end_.assign(b_.n_states_, kNone);
    for (RuleId r = 0; r < b_.rules_.size(); ++r) rule_of_end_[b_.rules_[r].body.out] = r;

    callers_ = by(b_.calls_, b_.rules_.size(), [](const auto& c) { return c.edge.rule; });
    sort_edges();
    find_empty_rules();
    if (refuse_left_recursion_anywhere) order_rules();
    find_ending_rules();
    remove_dead_ends();
    sort_edges();
    order_rules();
    mark_only_ends();
    return std::move(p_);
  }

 private:
  static constexpr RuleId kNone = ~RuleId{0};

  // Indices of `items` by key.
  template <class T, class Key>
  static Edges<std::uint32_t> by(const std::vector<T>& items, std::size_t n, Key key) {
    Edges<std::uint32_t> edges;
    edges.begin.assign(n + 1, 0);
    for (const T& item : items) ++edges.begin[key(item) + 1];
    for (std::size_t i = 0; i < n; ++i) edges.begin[i + 1] += edges.begin[i];
    edges.items.resize(items.size());
    std::vector<std::uint32_t> next(edges.begin.begin(), edges.begin.end() - 1);
    for (std::uint32_t i = 0; i < items.size(); ++i) edges.items[next[key(items[i])]++] = i;
    return edges;
  }

  template <class E>
  Edges<E> sorted(const std::vector<From<E>>& collected) {
    const auto index =
        by(collected, b_.n_states_, [](const From<E>& e) { return std::size_t{e.from}; });
    Edges<E> edges;
    edges.begin = index.begin;
    edges.items.reserve(collected.size());
    for (const std::uint32_t i : index.items) edges.items.push_back(collected[i].edge);
    return edges;
  }

  void sort_edges() {
    p_.bytes = sorted(b_.bytes_);
    p_.calls = sorted(b_.calls_);
    p_.tokens = sorted(b_.tokens_);
    p_.skips = sorted(b_.skips_);
  }

  // Marks the states that can be reached from the starts of rules. A call can be passed once the
  // end of the called rule is reached. With `skips_only`, only edges that read nothing are
  // followed.
  std::vector<bool> flood(bool skips_only, std::vector<bool>& reached) {
    std::vector<bool> open(b_.rules_.size(), false);
    reached.assign(b_.n_states_, false);
    std::vector<StateId> work;
    const auto visit = [&](StateId s) {
      if (!reached[s]) reached[s] = true, work.push_back(s);
    };
    for (const RuleUnderWork& rule : b_.rules_) visit(rule.body.in);
    while (!work.empty()) {
      const StateId s = work.back();
      work.pop_back();
      for (const StateId to : p_.skips.of(s)) visit(to);
      for (const CallEdge& edge : p_.calls.of(s))
        if (open[edge.rule]) visit(edge.to);
      if (!skips_only) {
        for (const ByteEdge& edge : p_.bytes.of(s)) visit(edge.to);
        for (const TokenEdge& edge : p_.tokens.of(s)) visit(edge.to);
      }
      const RuleId ended = rule_of_end_[s];
      if (ended == kNone || open[ended]) continue;
      open[ended] = true;
      for (const std::uint32_t i : callers_.of(ended))
        if (reached[b_.calls_[i].from]) visit(b_.calls_[i].edge.to);
    }
    return open;
  }

  void find_empty_rules() {
    const std::vector<bool> empty = flood(true, at_start_);
    for (const From<CallEdge>& call : b_.calls_)
      if (empty[call.edge.rule]) b_.skip(call.from, call.edge.to);
    p_.skips = sorted(b_.skips_);
  }

  void find_ending_rules() {
    std::vector<bool> reached;
    ends_ = flood(false, reached);
    if (!ends_[root_]) {
      fail<FormatError>(
          "'{}' can never end: every way through it comes back to a rule that is not "
          "finished, or allows nothing",
          b_.rules_[root_].name);
    }
  }

  // Removes edges from which the end of the rule cannot be reached.
  void remove_dead_ends() {
    std::erase_if(b_.calls_, [&](const From<CallEdge>& c) { return !ends_[c.edge.rule]; });
    std::vector<From<StateId>> back;
    for (const auto& e : b_.bytes_) back.push_back({e.edge.to, e.from});
    for (const auto& e : b_.calls_) back.push_back({e.edge.to, e.from});
    for (const auto& e : b_.tokens_) back.push_back({e.edge.to, e.from});
    for (const auto& e : b_.skips_) back.push_back({e.edge, e.from});
    const Edges<StateId> backwards = sorted(back);
    std::vector<bool> alive(b_.n_states_, false);
    std::vector<StateId> work;
    const auto visit = [&](StateId s) {
      if (!alive[s]) alive[s] = true, work.push_back(s);
    };
    for (const RuleUnderWork& rule : b_.rules_) visit(rule.body.out);
    while (!work.empty()) {
      const StateId s = work.back();
      work.pop_back();
      for (const StateId from : backwards.of(s)) visit(from);
    }
    std::erase_if(b_.bytes_, [&](const auto& e) { return !alive[e.edge.to]; });
    std::erase_if(b_.calls_, [&](const auto& e) { return !alive[e.edge.to]; });
    std::erase_if(b_.tokens_, [&](const auto& e) { return !alive[e.edge.to]; });
    std::erase_if(b_.skips_, [&](const auto& e) { return !alive[e.edge]; });
    p_.has_tokens = !b_.tokens_.empty();
  }

  // Ranks rules by depth-first search over "can begin with"; a cycle is left recursion.
  void order_rules() {
    std::vector<std::vector<RuleId>> begins(b_.rules_.size());
    for (RuleId r = 0; r < begins.size(); ++r) begins[r] = first_calls(b_.rules_[r].body.in);
    p_.rules.assign(begins.size(), {0, 0});
    std::vector<std::uint8_t> seen(begins.size(), 0);  // 1: on the stack, 2: done
    std::vector<std::pair<RuleId, std::size_t>> way;
    auto rank = static_cast<std::uint32_t>(begins.size());
    for (RuleId first = 0; first < begins.size(); ++first) {
      if (seen[first] != 0) continue;
      way.push_back({first, 0});
      seen[first] = 1;
      while (!way.empty()) {
        const RuleId r = way.back().first;
        if (way.back().second == begins[r].size()) {
          seen[r] = 2;
          p_.rules[r] = {b_.rules_[r].body.in, --rank};
          way.pop_back();
          continue;
        }
        const RuleId next = begins[r][way.back().second++];
        if (seen[next] == 1) left_recursive(next, r);
        if (seen[next] == 0) seen[next] = 1, way.push_back({next, 0});
      }
    }
    p_.root = root_;
  }

  [[noreturn]] void left_recursive(RuleId rule, RuleId through) {
    const std::string& name = b_.rules_[rule].name;
    const std::string& by_way = b_.rules_[through].name;
    fail<FormatError>("rule '{}' begins with itself{} (left recursion): write it as a repetition",
                      name, name == by_way ? "" : ", by way of '" + by_way + "'");
  }

  std::vector<RuleId> first_calls(StateId start) {
    std::vector<RuleId> rules;
    std::vector<StateId> work{start};
    // Bodies do not share states, so one set of marks is enough for all searches.
    walked_.resize(b_.n_states_, 0);
    ++walk_;
    while (!work.empty()) {
      const StateId s = work.back();
      work.pop_back();
      if (walked_[s] == walk_) continue;
      walked_[s] = walk_;
      for (const CallEdge& edge : p_.calls.of(s)) rules.push_back(edge.rule);
      for (const StateId to : p_.skips.of(s)) work.push_back(to);
    }
    std::sort(rules.begin(), rules.end());
    rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
    return rules;
  }

  void mark_only_ends() {
    p_.ends.assign(b_.n_states_, false);
    for (StateId s = 0; s < b_.n_states_; ++s) p_.ends[s] = rule_of_end_[s] != kNone;
    std::vector<From<StateId>> back;
    for (const auto& e : b_.skips_) back.push_back({e.edge, e.from});
    const Edges<StateId> backwards = sorted(back);
    p_.only_ends.assign(b_.n_states_, true);
    std::vector<StateId> work;
    for (StateId s = 0; s < b_.n_states_; ++s) {
      if (!p_.bytes.of(s).empty() || !p_.calls.of(s).empty() || !p_.tokens.of(s).empty())
        p_.only_ends[s] = false, work.push_back(s);
    }
    while (!work.empty()) {
      const StateId s = work.back();
      work.pop_back();
      for (const StateId from : backwards.of(s))
        if (p_.only_ends[from]) p_.only_ends[from] = false, work.push_back(from);
    }
  }

  GrammarBuilder& b_;
  RuleId root_;
  CompiledGrammar p_;
  std::vector<RuleId> rule_of_end_;
  Edges<std::uint32_t> callers_;
  std::vector<bool> at_start_, ends_;
  std::vector<std::uint32_t> walked_;
  std::uint32_t walk_ = 0;
};

CompiledGrammar GrammarBuilder::finish(RuleId root, bool refuse_left_recursion_anywhere) {
  return Finisher(*this, root).run(refuse_left_recursion_anywhere);
}

}  // namespace weft::grammar
