#include "common/constraint_flags.h"

#include "weft/serve/generation_knobs.h"

#include "common/knob_flags.h"
#include "common/read_text.h"

namespace weft::cli {
void add_constraint_flags(App& app, ConstraintFlags& flags) {
  App group = app.add_option_group("constraints", "at most one of");
  group.add_option("--grammar", flags.grammar, "a grammar in GBNF").type_name("TEXT");
  group.add_option("--grammar-file", flags.grammar_file, "a file with it").type_name("FILE");
  group.add_option("-j,--json-schema", flags.json_schema, "JSON that this JSON Schema allows")
      .type_name("TEXT");
  group.add_option("--json-schema-file", flags.json_schema_file, "a file with it")
      .type_name("FILE");
  group.add_option("--regex", flags.regex, "text that matches this pattern from start to end")
      .type_name("TEXT");
  group.require_option(0, 1);
  app.add_flag(
      "--json-schema-open", flags.open_schema,
      "allow unnamed members in objects of the schema; by default only if additionalProperties "
      "or patternProperties allow them");
  const auto add_texts = [&app](std::string_view name, std::vector<std::string>& texts) {
    const KnobText& text = find_knob(generation_texts(), name);
    app.add_option(std::string(text.flags), texts, help_text(text) + "; may be given several times")
        .take_all()
        .allow_extra_args(false)
        .type_name("TEXT");
  };
  add_texts("stop", flags.stops);
  add_texts("bad_words", flags.banned);
}

Constraint read_constraint(const ConstraintFlags& flags) {
  using Kind = Constraint::Kind;
  Constraint constraint;
  constraint.schema = {.closed_objects = !flags.open_schema, .single_line = true};
  const auto set = [&](Kind kind, const std::string& text) {
    constraint.kind = kind;
    constraint.text = text;
  };
  if (!flags.grammar.empty()) set(Kind::gbnf, flags.grammar);
  if (!flags.grammar_file.empty()) set(Kind::gbnf, read_text(flags.grammar_file));
  if (!flags.json_schema.empty()) set(Kind::json_schema, flags.json_schema);
  if (!flags.json_schema_file.empty()) set(Kind::json_schema, read_text(flags.json_schema_file));
  if (!flags.regex.empty()) set(Kind::regex, flags.regex);
  return constraint;
}

TextRulesOptions text_rules(const Model& model, const ConstraintFlags& flags) {
  return {.grammar = compile_constraint(read_constraint(flags), model.vocabulary()),
          .stops = flags.stops,
          .banned = flags.banned};
}

}  // namespace weft::cli
