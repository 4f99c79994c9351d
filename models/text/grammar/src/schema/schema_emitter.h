#pragma once
// Rules for terms: which JSON texts are values that a schema allows.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/json_pieces.h"
#include "schema/schema.h"

namespace weft::grammar {

class SchemaEmitter {
 public:
  // REQUIRES: the schema lives as long as the emitter.
  SchemaEmitter(const JsonTree& json, const JsonSchemaOptions& options)
      : expander_(json, options), json_(b_, options.single_line) {}

  CompiledGrammar run();

  // A member of an object that the schema names.
  struct Member {
    std::string name;
    RuleId value;
    bool required;
  };

 private:
  // Values (schema_emit.cpp).
  RuleId value(Conjunction what);
  Piece make_any();
  Piece types(const Conjunction& what);
  Piece emit(const Term& term, Type type);
  void add(Piece whole, Piece part);
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
  GrammarBuilder b_;
  JsonPieces json_;
  std::map<Conjunction, RuleId> rules_;
  std::vector<std::pair<Conjunction, RuleId>> work_;
  std::map<std::pair<std::string, RuleId>, RuleId> named_;
};

}  // namespace weft::grammar
