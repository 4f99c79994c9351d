#pragma once
// The compiled form of all kinds of grammars: rules that are small automata over bytes, whose
// edges may also call a rule (a recursive transition network). The matcher runs it without making
// it deterministic first, so that the compiled form is never much larger than the grammar.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::grammar {

using StateId = std::uint32_t;
using RuleId = std::uint32_t;

struct ByteEdge {
  std::uint8_t lo, hi;
  StateId to;
};
struct CallEdge {
  RuleId rule;
  StateId to;
};
// One whole token of the vocabulary; `negated`: any but this.
struct TokenEdge {
  std::int32_t token;
  bool negated;
  StateId to;
};

template <class E>
struct Edges {
  std::vector<std::uint32_t> begin;  // where each state's edges begin, and the end
  std::vector<E> items;
  std::span<const E> of(StateId s) const {
    return {items.data() + begin[s], items.data() + begin[s + 1]};
  }
  std::size_t n_bytes() const { return begin.size() * sizeof(begin[0]) + items.size() * sizeof(E); }
};

// Every state can reach the end of its rule, every rule can end, and no rule begins with itself. If
// a called rule may be empty, there is also an edge in `skips`; the call is then for non-empty
// texts only.
struct CompiledGrammar {
  Edges<ByteEdge> bytes;
  Edges<CallEdge> calls;
  Edges<TokenEdge> tokens;
  Edges<StateId> skips;
  std::vector<bool> ends;       // the last state of a rule
  std::vector<bool> only_ends;  // nothing but the end can follow
  struct Rule {
    StateId start;
    std::uint32_t rank;  // rules that a rule can begin with have higher ranks
  };
  std::vector<Rule> rules;
  RuleId root = 0;
  bool has_tokens = false;
  std::size_t n_states() const { return ends.size(); }
  std::size_t n_bytes() const {  // of memory, about
    return bytes.n_bytes() + calls.n_bytes() + tokens.n_bytes() + skips.n_bytes() + n_states() / 4 +
           rules.size() * sizeof(Rule);
  }
};

// A piece of a rule under construction: from `in` to `out`.
struct Piece {
  StateId in, out;
};

class GrammarBuilder {
 public:
  // Adds a rule that is defined later, or at once by the automaton between two states. The end of a
  // rule has no edges.
  RuleId add_rule(std::string name);
  RuleId add_rule(std::string name, Piece body);
  // Defines a rule as all texts of another grammar, whose rules are copied.
  void define(RuleId rule, const CompiledGrammar& compiled);
  void define(RuleId rule, Piece body);
  bool defined(RuleId rule) const { return rules_[rule].defined; }
  const std::string& name(RuleId rule) const { return rules_[rule].name; }

  StateId state();
  Piece piece();  // two states without an edge
  void skip(StateId from, StateId to);
  void byte(StateId from, std::uint8_t lo, std::uint8_t hi, StateId to);
  void call(StateId from, RuleId rule, StateId to);
  void token(StateId from, std::int32_t id, bool negated, StateId to);
  void text(StateId from, std::string_view bytes, StateId to);

  Piece call(RuleId rule);
  Piece optional(Piece piece);
  Piece star(Piece piece);
  Piece plus(Piece piece);
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  // The number of states hardly depends on the counts.
  Piece repeat(RuleId rule, std::uint64_t min, std::uint64_t max);

  // Throws FormatError, naming the rule, if the root can never end or if a rule begins with itself.
  // Call it once.
  CompiledGrammar finish(RuleId root, bool refuse_left_recursion_anywhere);

 private:
  struct RuleUnderWork {
    std::string name;
    Piece body{0, 0};
    bool defined = false;
  };
  template <class E>
  struct From {
    StateId from;
    E edge;
  };
  class Finisher;

  void count_one();
  Piece exactly(RuleId rule, std::uint64_t n);
  Piece up_to(RuleId rule, std::uint64_t n);
  Piece chain(Piece a, Piece b);

  std::vector<RuleUnderWork> rules_;
  StateId n_states_ = 0;
  std::size_t size_ = 0;
  std::vector<From<ByteEdge>> bytes_;
  std::vector<From<CallEdge>> calls_;
  std::vector<From<TokenEdge>> tokens_;
  std::vector<From<StateId>> skips_;
};

}  // namespace weft::grammar
