#include "schema/json_pieces.h"

#include <utility>
#include <vector>

#include "characters.h"
#include "schema/numbers.h"

namespace weft::grammar {
namespace {

// The states and moves of an automaton. move(from, set, to) adds edges for the characters of a set.
template <class Move>
Piece automaton(GrammarBuilder& builder, const Dfa& dfa, const Move& move) {
  const StateId end = builder.state();
  std::vector<StateId> states;
  for (Dfa::State s = 0; s < dfa.size(); ++s) states.push_back(builder.state());
  for (Dfa::State s = 1; s < dfa.size(); ++s) {
    for (const auto& [to, set] : dfa.moves(s)) move(states[s], set, states[to]);
    if (dfa.accepts(s)) builder.skip(states[s], end);
  }
  return {states[dfa.start()], end};
}

}  // namespace

Piece JsonPieces::text(std::string_view bytes) {
  const Piece p = b_.piece();
  b_.text(p.in, bytes, p.out);
  return p;
}

Piece JsonPieces::make_space() {
  const Piece p = b_.piece();
  b_.skip(p.in, p.out);
  b_.byte(p.in, ' ', ' ', p.out);
  if (single_line_) return p;
  StateId at = b_.state();
  b_.byte(p.in, '\n', '\n', at);
  for (int i = 0; i < 24; ++i) {
    b_.skip(at, p.out);
    const StateId next = i == 23 ? p.out : b_.state();
    b_.byte(at, ' ', ' ', next);
    b_.byte(at, '\t', '\t', next);
    at = next;
  }
  return p;
}

StateId JsonPieces::space(StateId from) {
  const StateId to = b_.state();
  b_.call(from, shared("space", [&] { return make_space(); }), to);
  return to;
}

StateId JsonPieces::mark(StateId from, char c, bool space_before, bool space_behind) {
  if (space_before) from = space(from);
  StateId to = b_.state();
  b_.byte(from, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
  return space_behind ? space(to) : to;
}

Piece JsonPieces::make_character() {
  const Piece p = b_.piece();
  add_json_character(b_, p.in, CodePoints::all(), p.out);
  const StateId escape = b_.state(), u = b_.state(), zeros = b_.state(), high = b_.state();
  b_.byte(p.in, '\\', '\\', escape);
  b_.byte(escape, '/', '/', p.out);
  b_.byte(escape, 'u', 'u', u);  // \u0020 .. \u007F; add_json_character() adds the others
  const StateId second = b_.state();
  b_.byte(u, '0', '0', second);
  b_.byte(second, '0', '0', zeros);
  b_.byte(zeros, '2', '7', high);
  for (const auto& [lo, hi] : {std::pair('0', '9'), std::pair('a', 'f'), std::pair('A', 'F')})
    b_.byte(high, static_cast<std::uint8_t>(lo), static_cast<std::uint8_t>(hi), p.out);
  return p;
}

Piece JsonPieces::quoted(Piece inner) {
  const Piece p = b_.piece();
  b_.byte(p.in, '"', '"', inner.in);
  b_.byte(inner.out, '"', '"', p.out);
  return p;
}

RuleId JsonPieces::character() {
  return shared("character", [&] { return make_character(); });
}

RuleId JsonPieces::number() {
  return shared("number", [&] { return bytes(any_number()); });
}

RuleId JsonPieces::string() {
  return shared("string", [&] { return quoted(b_.star(make_character())); });
}

Piece JsonPieces::bytes(const Dfa& dfa) {
  return automaton(b_, dfa, [&](StateId from, const CodePoints& set, StateId to) {
    add_character(b_, from, set, to);
  });
}

Piece JsonPieces::characters(const Dfa& dfa) {
  return automaton(b_, dfa, [&](StateId from, const CodePoints& set, StateId to) {
    if (set.ranges().back().hi < 0x80) return add_json_character(b_, from, set, to);
    const auto [it, added] = sets_.try_emplace(set, 0);
    if (added) {
      const Piece p = b_.piece();
      add_json_character(b_, p.in, set, p.out);
      it->second = b_.add_rule("character", p);
    }
    b_.call(from, it->second, to);
  });
}

}  // namespace weft::grammar
