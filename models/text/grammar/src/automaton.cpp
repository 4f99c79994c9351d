#include "automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "weft/base/error.h"

#include "compile_work.h"

namespace weft::grammar {
namespace {

constexpr std::size_t kMaxNfaStates = 200'000;
constexpr std::size_t kMaxNfaRanges = 4'000'000;  // ranges of all edges together
constexpr std::size_t kMaxDfaStates = 90'000;     // e-mail addresses need more than 50,000
constexpr std::size_t kMaxTable = 8'000'000;
// Limit of the work to make an automaton deterministic, in visits of states.
constexpr std::size_t kMaxVisits = 30'000'000;
constexpr std::size_t kLookUp = 4;  // steps of finding a state by what it stands for

void check_size(std::size_t states, std::size_t classes) {
  if (states > kMaxDfaStates || states * classes > kMaxTable)
    fail<BudgetError>("the pattern needs more than {} states", kMaxDfaStates);
}

void sort_unique(std::vector<char32_t>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

}  // namespace

Nfa::State Nfa::state() {
  if (edges_.size() >= kMaxNfaStates)
    fail<BudgetError>("the pattern needs more than {} states", kMaxNfaStates);
  CompileWork::add(1);
  edges_.emplace_back();
  skips_.emplace_back();
  return static_cast<State>(edges_.size() - 1);
}

Nfa::Piece Nfa::piece() {
  const State in = state();
  return {in, state()};
}

void Nfa::edge(State from, const CodePoints& set, State to) {
  n_ranges_ += set.ranges().size();
  if (n_ranges_ > kMaxNfaRanges)
    fail<BudgetError>("the pattern needs more than {} ranges of characters", kMaxNfaRanges);
  CompileWork::add(1 + set.ranges().size());
  edges_[from].push_back({set, to});
}

void Nfa::skip(State from, State to, Assert where) {
  skips_[from].push_back({to, where});
}

// Makes an automaton deterministic: a state of the result stands for a set of states of `nfa`.
class Dfa::SubsetConstruction {
 public:
  SubsetConstruction(const Nfa& nfa, Nfa::Piece piece)
      : nfa_(nfa), piece_(piece), seen_(nfa.edges_.size(), 0) {}

  Dfa run() {
    find_borders();
    n_classes_ = dfa_.borders_.size();
    dfa_.table_.assign(n_classes_, kDead);
    dfa_.accepts_.assign(1, false);
    // The first state is separate: "begin" is true only there.
    dfa_.start_ = add(closure({piece_.in}, true, false), true);
    const States first = *order_[dfa_.start_];
    known_.clear();
    order_[dfa_.start_] = &first;
    for (State s = 1; s < order_.size(); ++s) add_moves(s);
    dfa_.trim();
    return std::move(dfa_);
  }

 private:
  using States = std::vector<Nfa::State>;

  void find_borders() {
    std::vector<char32_t>& borders = dfa_.borders_;
    for (const auto& edges : nfa_.edges_) {
      for (const Nfa::Edge& edge : edges) {
        for (const CodeRange& range : edge.set.ranges()) {
          borders.push_back(range.lo);
          if (range.hi < kMaxCodePoint) borders.push_back(range.hi + 1);
        }
      }
      CompileWork::add(edges.size());
      if (borders.size() > 1'000'000) sort_unique(borders);
    }
    sort_unique(borders);
  }

  void visit() {
    if (++visits_ > kMaxVisits) fail<BudgetError>("the pattern is too complex");
    CompileWork::add(1);
  }

  // The states and all that can be reached from them without a character, sorted.
  States closure(States states, bool at_begin, bool at_end) {
    ++round_;
    States result;
    while (!states.empty()) {
      const Nfa::State s = states.back();
      states.pop_back();
      if (seen_[s] == round_) continue;
      seen_[s] = round_;
      result.push_back(s);
      visit();
      for (const Nfa::Skip& skip : nfa_.skips_[s]) {
        if ((skip.where != Nfa::Assert::begin || at_begin) &&
            (skip.where != Nfa::Assert::end || at_end))
          states.push_back(skip.to);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  State add(States states, bool at_begin) {
    if (states.empty()) return kDead;
    CompileWork::add(kLookUp + states.size());
    const auto [it, added] =
        known_.try_emplace(std::move(states), static_cast<State>(order_.size()));
    if (added) {
      order_.push_back(&it->first);
      check_size(order_.size(), n_classes_);
      dfa_.table_.resize(order_.size() * n_classes_, kDead);
      const States ended = closure(it->first, at_begin, true);
      dfa_.accepts_.push_back(std::binary_search(ended.begin(), ended.end(), piece_.out));
    }
    return it->second;
  }

  // Where state s of the result leads by each class of characters.
  void add_moves(State s) {
    const States from = *order_[s];
    CompileWork::add(n_classes_);
    std::vector<States> reached(n_classes_);
    for (const Nfa::State n : from) {
      for (const Nfa::Edge& edge : nfa_.edges_[n]) {
        for (const CodeRange& range : edge.set.ranges()) {
          for (std::size_t c = dfa_.class_of(range.lo);
               c < n_classes_ && dfa_.borders_[c] <= range.hi; ++c) {
            reached[c].push_back(edge.to);
            visit();
          }
        }
      }
    }
    for (std::size_t c = 0; c < n_classes_; ++c) {
      if (reached[c].empty()) continue;
      const State to = add(closure(std::move(reached[c]), false, false), false);
      dfa_.table_[s * n_classes_ + c] = to;
    }
  }

  const Nfa& nfa_;
  const Nfa::Piece piece_;
  Dfa dfa_;
  std::size_t n_classes_ = 0;
  std::map<States, State> known_;
  std::vector<const States*> order_{nullptr};
  std::vector<std::uint32_t> seen_;  // the round in which a state was seen last
  std::uint32_t round_ = 0;
  std::size_t visits_ = 0;
};

Dfa Dfa::of(const Nfa& nfa, Nfa::Piece piece) {
  return SubsetConstruction(nfa, piece).run();
}

Dfa Dfa::explore(std::string_view alphabet, const Key& start,
                 const std::function<std::optional<Key>(const Key&, char)>& step,
                 const std::function<bool(const Key&)>& accepts) {
  Dfa dfa;
  for (const char c : alphabet) {
    dfa.borders_.push_back(static_cast<char32_t>(c));
    dfa.borders_.push_back(static_cast<char32_t>(c) + 1);
  }
  sort_unique(dfa.borders_);
  const std::size_t n_classes = dfa.borders_.size();
  std::map<Key, State> known;
  std::vector<const Key*> order{nullptr};
  dfa.accepts_.assign(1, false);
  dfa.table_.assign(n_classes, kDead);
  const auto add = [&](const Key& key) {
    const auto [it, added] = known.try_emplace(key, static_cast<State>(order.size()));
    if (added) {
      order.push_back(&it->first);
      check_size(order.size(), n_classes);
      dfa.table_.resize(order.size() * n_classes, kDead);
      dfa.accepts_.push_back(accepts(key));
    }
    return it->second;
  };
  dfa.start_ = add(start);
  for (State s = 1; s < order.size(); ++s) {
    CompileWork::add(kLookUp * alphabet.size());
    for (const char c : alphabet) {
      if (const auto to = step(*order[s], c)) {
        const State state = add(*to);
        dfa.table_[s * n_classes + dfa.class_of(static_cast<char32_t>(c))] = state;
      }
    }
  }
  dfa.trim();
  return dfa;
}

// Texts share their ends: then the automaton that comes out has as few states as possible.
Dfa Dfa::literals(const std::vector<std::u32string>& texts) {
  Nfa nfa;
  const Nfa::Piece all = nfa.piece();
  // A state, by the range that is read in it and the state after that.
  std::map<std::pair<Nfa::State, char32_t>, Nfa::State> before;
  std::set<Nfa::State> begins;
  for (const std::u32string& text : texts) {
    Nfa::State at = all.out;
    CompileWork::add(kLookUp * text.size());
    for (auto c = text.rbegin(); c != text.rend(); ++c) {
      const auto [known, added] = before.try_emplace({at, *c});
      if (added) nfa.edge(known->second = nfa.state(), {*c, *c}, at);
      at = known->second;
    }
    if (begins.insert(at).second) nfa.skip(all.in, at);
  }
  return of(nfa, all);
}

Dfa Dfa::lengths(std::uint64_t min, std::uint64_t max) {
  Dfa dfa;
  const std::uint64_t n = max == kUnbounded ? min : max;
  if (min > n) {
    dfa.table_ = {kDead};
    dfa.accepts_ = {false};
    return dfa;
  }
  check_size(static_cast<std::size_t>(std::min<std::uint64_t>(n, kMaxDfaStates)) + 2, 1);
  for (State s = 0; s < n + 2; ++s) {
    dfa.accepts_.push_back(s > 0 && s - 1 >= min);
    dfa.table_.push_back(s == 0 ? kDead : s - 1 < n ? s + 1 : max == kUnbounded ? s : kDead);
  }
  CompileWork::add(n);
  dfa.start_ = 1;
  return dfa;
}

std::size_t Dfa::class_of(char32_t code) const {
  return static_cast<std::size_t>(std::upper_bound(borders_.begin(), borders_.end(), code) -
                                  borders_.begin()) -
         1;
}

Dfa Dfa::refined(const std::vector<char32_t>& borders) const {
  Dfa dfa = *this;
  dfa.borders_.insert(dfa.borders_.end(), borders.begin(), borders.end());
  sort_unique(dfa.borders_);
  check_size(size(), dfa.borders_.size());
  CompileWork::add(size() * dfa.borders_.size());
  dfa.table_.clear();
  for (State s = 0; s < size(); ++s)
    for (const char32_t border : dfa.borders_) dfa.table_.push_back(next(s, class_of(border)));
  return dfa;
}

// Both automata are refined to the same classes; the pair (dead, dead) is the dead state.
Dfa Dfa::product(const Dfa& other, bool in_this, bool in_other) const {
  const Dfa a = refined(other.borders_);
  const Dfa b = other.refined(borders_);
  const std::size_t n_classes = a.borders_.size();
  Dfa dfa;
  dfa.borders_ = a.borders_;
  dfa.accepts_.assign(1, false);
  dfa.table_.assign(n_classes, kDead);
  std::map<std::pair<State, State>, State> known;
  std::vector<std::pair<State, State>> order{{kDead, kDead}};
  const auto add = [&](State x, State y) {
    if ((in_this && x == kDead) || (in_other && y == kDead)) return kDead;
    const auto [it, added] = known.try_emplace({x, y}, static_cast<State>(order.size()));
    if (added) {
      order.push_back({x, y});
      check_size(order.size(), n_classes);
      dfa.table_.resize(order.size() * n_classes, kDead);
      dfa.accepts_.push_back(a.accepts_[x] == in_this && b.accepts_[y] == in_other);
    }
    return it->second;
  };
  dfa.start_ = add(a.start_, b.start_);
  for (State s = 1; s < order.size(); ++s) {
    CompileWork::add(kLookUp * n_classes);
    for (std::size_t c = 0; c < n_classes; ++c) {
      const State to = add(a.next(order[s].first, c), b.next(order[s].second, c));
      dfa.table_[s * n_classes + c] = to;
    }
  }
  dfa.trim();
  return dfa;
}

Dfa Dfa::inverted() const {
  return everything().without(*this);
}

Dfa Dfa::either(const Dfa& other) const {
  return inverted().without(other).inverted();
}

void Dfa::trim() {
  const std::size_t n_classes = borders_.size();
  CompileWork::add(table_.size());
  std::vector<std::vector<State>> back(size());
  for (State s = 1; s < size(); ++s) {
    for (std::size_t c = 0; c < n_classes; ++c) {
      const State to = next(s, c);
      if (to != kDead && (back[to].empty() || back[to].back() != s)) back[to].push_back(s);
    }
  }
  std::vector<bool> alive(size(), false);
  std::vector<State> work;
  for (State s = 1; s < size(); ++s)
    if (accepts_[s]) alive[s] = true, work.push_back(s);
  while (!work.empty()) {
    const State s = work.back();
    work.pop_back();
    for (const State from : back[s])
      if (!alive[from]) alive[from] = true, work.push_back(from);
  }
  for (State& to : table_)
    if (!alive[to]) to = kDead;
  if (!alive[start_]) start_ = kDead;
}

bool Dfa::matches(std::u32string_view text) const {
  State s = start_;
  for (const char32_t code : text) s = next(s, class_of(code));
  return accepts_[s];
}

bool Dfa::empty() const {
  return start_ == kDead;
}

std::vector<std::pair<Dfa::State, CodePoints>> Dfa::moves(State s) const {
  CompileWork::add(kLookUp * borders_.size());
  std::map<State, CodePoints> by_state;
  for (std::size_t c = 0; c < borders_.size(); ++c) {
    const State to = next(s, c);
    if (to == kDead) continue;
    by_state[to].add(borders_[c], c + 1 < borders_.size() ? borders_[c + 1] - 1 : kMaxCodePoint);
  }
  return {by_state.begin(), by_state.end()};
}

}  // namespace weft::grammar
