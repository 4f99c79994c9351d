#pragma once
// Pieces of rules for JSON texts that do not depend on a schema. Those that are rules of their own
// are made when they are first used.

#include <map>
#include <string>
#include <string_view>

#include "automaton.h"
#include "compiled_grammar.h"

namespace weft::grammar {

class JsonPieces {
 public:
  // `single_line`: white space has no line ends. REQUIRES: `builder` outlives this.
  JsonPieces(GrammarBuilder& builder, bool single_line) : b_(builder), single_line_(single_line) {}

  // The rule with this name. If there is none, make() returns its body.
  template <class Make>
  RuleId shared(const char* name, const Make& make) {
    const auto [it, added] = shared_.try_emplace(name, 0);
    if (!added) return it->second;
    const RuleId id = it->second = b_.add_rule(name);
    b_.define(id, make());
    return id;
  }

  Piece text(std::string_view bytes);
  // Nothing, a space, or a line end with the indentation of the next line. Returns the state after
  // it.
  StateId space(StateId from);
  StateId mark(StateId from, char c, bool space_before, bool space_behind);
  // Any character of a string, in any of the forms that JSON has for it.
  RuleId character();
  Piece quoted(Piece inner);
  RuleId number();
  RuleId string();
  // The texts that an automaton accepts, as they are and as the inside of a string.
  Piece bytes(const Dfa& dfa);
  Piece characters(const Dfa& dfa);

 private:
  Piece make_space();
  Piece make_character();

  GrammarBuilder& b_;
  const bool single_line_;
  std::map<std::string, RuleId> shared_;
  std::map<CodePoints, RuleId> sets_;
};

}  // namespace weft::grammar
