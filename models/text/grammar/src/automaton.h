#pragma once
// Regular languages over Unicode characters: patterns, formats, number ranges and lengths of a
// schema are combined here (and, or, not) before they become part of a compiled grammar.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "code_points.h"

namespace weft::grammar {

// A nondeterministic automaton over characters, with assertions of the beginning and the end of
// the text.
class Nfa {
 public:
  using State = std::uint32_t;
  enum class Assert : std::uint8_t { none, begin, end };  // at the beginning or end of the text
  struct Piece {
    State in, out;
  };

  State state();  // throws BudgetError past some 100 000
  Piece piece();
  // Throws BudgetError past some million ranges of all edges.
  void edge(State from, const CodePoints& set, State to);
  void skip(State from, State to, Assert where = Assert::none);

 private:
  friend class Dfa;
  struct Edge {
    CodePoints set;
    State to;
  };
  struct Skip {
    State to;
    Assert where;
  };
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<Skip>> skips_;
  std::size_t n_ranges_ = 0;
};

// A deterministic automaton; state 0 is dead. Values are immutable.
class Dfa {
 public:
  using State = std::uint32_t;
  static constexpr State kDead = 0;

  // The texts that lead from piece.in to piece.out. Throws BudgetError if it needs too many
  // states.
  static Dfa of(const Nfa& nfa, Nfa::Piece piece);
  // Builds an automaton by exploration. Keys are arbitrary numbers; `step` returns the key after a
  // character of `alphabet` (a set of ASCII characters), or nullopt.
  using Key = std::vector<int>;
  static Dfa explore(std::string_view alphabet, const Key& start,
                     const std::function<std::optional<Key>(const Key&, char)>& step,
                     const std::function<bool(const Key&)>& accepts);
  static Dfa literals(const std::vector<std::u32string>& texts);
  static Dfa lengths(std::uint64_t min, std::uint64_t max);  // max may be kUnbounded
  static Dfa everything() { return lengths(0, kUnbounded); }
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};

  Dfa both(const Dfa& other) const { return product(other, true, true); }
  Dfa without(const Dfa& other) const { return product(other, true, false); }
  Dfa either(const Dfa& other) const;
  Dfa inverted() const;

  bool matches(std::u32string_view text) const;
  bool empty() const;
  // Lengths of the shortest and the longest text; kUnbounded for both if there is no text, and for
  // the longest if there is no maximum.
  std::pair<std::uint64_t, std::uint64_t> length_bounds() const;

  State start() const { return start_; }
  std::size_t size() const { return accepts_.size(); }
  std::size_t table_size() const { return table_.size(); }
  bool accepts(State s) const { return accepts_[s]; }
  // The successors of a state with their characters, except the dead state.
  std::vector<std::pair<State, CodePoints>> moves(State s) const;

 private:
  class SubsetConstruction;

  // Characters that no state distinguishes form a class: class i begins at borders_[i].
  std::size_t class_of(char32_t code) const;
  State next(State s, std::size_t c) const { return table_[s * borders_.size() + c]; }
  Dfa product(const Dfa& other, bool in_this, bool in_other) const;
  Dfa refined(const std::vector<char32_t>& borders) const;
  std::uint64_t shortest() const;  // REQUIRES: not empty; so does longest()
  std::uint64_t longest() const;
  void trim();  // merges states that cannot reach acceptance into the dead one

  std::vector<char32_t> borders_{0};
  std::vector<State> table_;
  std::vector<bool> accepts_;
  State start_ = 0;
};

}  // namespace weft::grammar
