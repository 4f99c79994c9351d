#include "weft/api/constraint_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"

namespace weft::api {
namespace {

using ConstraintKind = Constraint::Kind;
constexpr JsonTypes kSchemaTypes = kObject | kBoolean;

// A schema, or a text that holds one.
Form<Constraint> schema_form() {
  return {"a JSON Schema", R"({"type":["object","boolean","string"]})", kAnyType,
          [](const Json& json, const Path& path) -> Constraint {
            if (json.is_string())
              return {.kind = ConstraintKind::json_schema,
                      .text = json.get<std::string>(),
                      .place = path.text()};
            if ((type_of(json) & kSchemaTypes) == 0) refuse(path, "a JSON Schema", json);
            return {
                .kind = ConstraintKind::json_schema, .text = to_text(json), .place = path.text()};
          }};
}

Form<Constraint> text_form(ConstraintKind kind, std::string expected) {
  return {std::move(expected), R"({"type":"string"})", kString,
          [kind](const Json& json, const Path& path) -> Constraint {
            return {.kind = kind, .text = json.get<std::string>(), .place = path.text()};
          }};
}

Form<Constraint> choice_form() {
  auto texts = list(text(), 1, 100'000);
  return {"a list of texts", texts.schema, kArray,
          [read = texts.read](const Json& json, const Path& path) -> Constraint {
            return {
                .kind = ConstraintKind::choice, .choices = read(json, path), .place = path.text()};
          }};
}

void add(ConstraintFields& fields, Constraint constraint) {
  const bool is_none = constraint.kind == ConstraintKind::gbnf && constraint.text.empty();
  if (!is_none) fields.constraints.push_back(std::move(constraint));
}

const Fields<ConstraintFields>& structured_outputs_fields() {
  static const auto table =
      Fields<ConstraintFields>()
          .apply("json", schema_form(), add, "JSON Schema that the text matches.")
          .apply("regex", text_form(ConstraintKind::regex, "a regular expression"), add,
                 "Regular expression that the text matches from start to end.")
          .apply("choice", choice_form(), add, "Allowed texts: the answer is one of them.")
          .apply("grammar", text_form(ConstraintKind::gbnf, "a grammar in GBNF"), add,
                 "Grammar in GBNF for the text.")
          .apply(
              "json_object", boolean(),
              [](ConstraintFields& fields, bool on) {
                if (on)
                  fields.constraints.push_back({.kind = ConstraintKind::json_object,
                                                .place = "structured_outputs.json_object"});
              },
              "Allow any JSON object, and nothing else.")
          .refused("structural_tag", {}, "structural tags are not supported");
  return table;
}

void append(ConstraintFields& fields, ConstraintFields more) {
  for (Constraint& constraint : more.constraints)
    fields.constraints.push_back(std::move(constraint));
}

struct SchemaFields {
  std::string name;
  Constraint schema;
};

const Fields<SchemaFields>& schema_fields() {
  static const auto table = Fields<SchemaFields>()
                                .add("name", &SchemaFields::name, text(),
                                     "Name of the schema, which the model does not see.")
                                .add("schema", &SchemaFields::schema, schema_form(),
                                     "JSON Schema of the answer; it is always enforced.");
  return table;
}

}  // namespace

const Fields<ConstraintFields>& constraint_fields() {
  static const auto table =
      Fields<ConstraintFields>()
          .apply("grammar", text_form(ConstraintKind::gbnf, "a grammar in GBNF"), add,
                 "Grammar in GBNF for all that is generated.")
          .apply("json_schema", schema_form(), add, "JSON Schema that the text matches.")
          .apply("guided_json", schema_form(), add, "JSON Schema that the text matches.")
          .apply("guided_regex", text_form(ConstraintKind::regex, "a regular expression"), add,
                 "Regular expression that the text matches from start to end.")
          .apply("guided_choice", choice_form(), add, "Allowed texts: the answer is one of them.")
          .apply("guided_grammar", text_form(ConstraintKind::gbnf, "a grammar in GBNF"), add,
                 "Grammar in GBNF for the text.")
          .apply("structured_outputs", object(structured_outputs_fields()), append,
                 "Constraint of the answer, in one of several kinds.")
          .refused("grammar_lazy", {"false"}, "grammars hold from the first token");
  return table;
}

Form<Constraint> response_format_form() {
  struct FormatFields {
    std::string type;
    std::optional<SchemaFields> json_schema;
    std::optional<Constraint> schema;
  };
  static const auto table =
      Fields<FormatFields>()
          .required("type", &FormatFields::type, word({"text", "json_object", "json_schema"}),
                    "Type of the content.")
          .add("json_schema", &FormatFields::json_schema, object(schema_fields()),
               "Schema of the content, if the type is json_schema.")
          .add("schema", &FormatFields::schema, schema_form(),
               "JSON Schema of the content, in another place.");
  return {"an object with a type", table.schema(), kObject,
          [](const Json& json, const Path& path) -> Constraint {
            FormatFields format = table.read(json, {}, path);
            const bool has_inner =
                format.json_schema && format.json_schema->schema.kind != ConstraintKind::none;
            if (format.schema && (has_inner || format.type == "text"))
              refuse(path.member("schema"),
                     has_inner ? "there is another schema" : "a format of type text has no schema");
            if (has_inner && format.type == "text")
              refuse(path.member("json_schema"), "a format of type text has no schema");
            if (format.type == "text") return {};
            if (has_inner) return std::move(format.json_schema->schema);
            if (format.schema) return std::move(*format.schema);
            if (format.type == "json_schema")
              refuse(path.member("json_schema").member("schema"), "is required");
            return {.kind = ConstraintKind::json_object, .place = path.text()};
          }};
}

Constraint only_constraint(const std::vector<Constraint>& constraints) {
  const Constraint* found = nullptr;
  for (const Constraint& constraint : constraints) {
    if (constraint.kind == ConstraintKind::none) continue;
    if (found)
      throw bad_request(
          constraint.place,
          fmt::format("there is a constraint in {}, too; only one can hold", found->place));
    found = &constraint;
  }
  return found ? *found : Constraint{};
}

}  // namespace weft::api
