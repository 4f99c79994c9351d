#include "weft/grammar/grammar.h"

#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/read_file.h"

#include "common/read_text.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

std::string verdict(const Grammar& grammar, const std::string& line) {
  try {
    const auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!value.is_string()) fail<FormatError>("the line is not a JSON string");
    return grammar.accepts(value.get_ref<const std::string&>()) ? "\"accept\"" : "\"reject\"";
  } catch (const std::exception& error) {
    using Json = nlohmann::json;
    return Json{{"error", error.what()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

int grammar(int argc, char** argv) {
  cli::App app("Checks whether a grammar accepts texts.", "weft grammar");
  std::string gbnf, schema, pattern;
  bool jsonl = false;
  JsonSchemaOptions schema_options;
  cli::App kinds = app.add_option_group("grammar", "one of");
  kinds.add_option("--grammar-file", gbnf, "a grammar in GBNF; - is stdin").type_name("FILE");
  kinds.add_option("--json-schema-file", schema, "a JSON Schema").type_name("FILE");
  kinds.add_option("--regex", pattern, "a regular expression for the whole text");
  kinds.require_option(1, 1);
  app.add_flag("--json-schema-closed", schema_options.closed_objects,
               "read the schema as generate does: objects have no members that it does not name, "
               "unless additionalProperties or patternProperties say so");
  app.add_flag("--jsonl", jsonl,
               "a JSON string per input line, \"accept\" or \"reject\" per output line; otherwise "
               "the whole input is one text");
  app.footer(
      "Examples:\n"
      "  echo '{\"a\": 1}' | tr -d '\\n' | weft grammar --grammar-file json.gbnf\n"
      "  echo '\"2024-02-30\"' | weft grammar --regex '\\d{4}-\\d\\d-\\d\\d' --jsonl");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto compiled = !gbnf.empty() ? Grammar::from_gbnf(cli::read_text(gbnf))
                        : !schema.empty()
                            ? Grammar::from_json_schema(cli::read_text(schema), schema_options)
                            : Grammar::from_regex(pattern);
  cli::use_own_buffers();
  if (!jsonl) {
    const std::string text = read_stdin();
    std::cout << (compiled->accepts(text) ? "accept\n" : "reject\n");
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) std::cout << verdict(*compiled, line) << '\n';
  return 0;
}

}  // namespace

const Subcommand kGrammar{"grammar", "checks texts against a grammar, a JSON Schema or a pattern",
                          grammar};

}  // namespace weft::tools
