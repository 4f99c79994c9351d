#pragma once
// Rules for terms: which JSON texts are values that a schema allows.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/schema.h"

namespace weft::grammar {

class SchemaEmitter {
 public:
  // REQUIRES: the schema lives as long as the emitter.
  SchemaEmitter(const JsonTree& json, const JsonSchemaOptions& options)
      : expander_(json, options), single_line_(options.single_line) {}

  CompiledGrammar run();

  // A member of an object that the schema names.
  struct Member {
    std::string name;
    RuleId value;
    bool required;
  };

 private:
  // Shared rules (schema_emit.cpp).
  RuleId shared(const char* name, Piece (SchemaEmitter::*make)());
  Piece text(std::string_view bytes);
  // Nothing, a space, or a line end with the indentation of the next line.
  Piece make_space();
  StateId space(StateId from);
  StateId mark(StateId from, char c, bool space_before, bool space_behind);
  // Any character of a string, in any of the forms that JSON has for it.
  Piece make_character();
  Piece quoted(Piece inner);
  Piece make_string() { return quoted(b_.star(make_character())); }
  Piece make_number();
  Piece make_any();
  RuleId number() { return shared("number", &SchemaEmitter::make_number); }
  RuleId string() { return shared("string", &SchemaEmitter::make_string); }
  void add(Piece whole, Piece part);

  // Values (schema_emit.cpp).
  RuleId value(Conjunction what);
  Piece types(const Conjunction& what);
  Piece emit(const Term& term, Type type);
  template <class Move>
  Piece automaton(const Dfa& dfa, const Move& move);
  Piece bytes(const Dfa& dfa);
  // The inside of a string.
  Piece characters(const Dfa& dfa);
  Piece string_of(const Term& term);
  void check_count(const Term& term);

  // Arrays (schema_emit_array.cpp).
  Piece array(const Term& term);
  RuleId item(const Term& term, std::uint64_t index, const Conjunction& more);
  void items(const Term& term, std::uint64_t named, StateId at, StateId close);
  // A state for every number of items and of those that count.
  void counted_items(const Term& term, std::uint64_t named, StateId open, StateId close);

  // Objects (schema_emit_object.cpp).
  Piece object(const Term& term);
  std::vector<Member> named_members(const Term& term);
  RuleId named_member(const Member& member);
  // A member of any other name: NAME ws : ws VALUE. Names fall into sets by the patterns that they
  // match.
  RuleId other_member(const Term& term, const std::vector<Member>& members);

  SchemaExpander expander_;
  const bool single_line_;
  GrammarBuilder b_;
  std::map<std::string, RuleId> shared_;
  std::map<Conjunction, RuleId> rules_;
  std::vector<std::pair<Conjunction, RuleId>> work_;
  std::map<CodePoints, RuleId> sets_;
  std::map<std::pair<std::string, RuleId>, RuleId> named_;
};

}  // namespace weft::grammar
