#include <iostream>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/check/new_model.h"

#include "common/extension_flag.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// "granite.logit_scale=4", "x.flag=true", "x.name=text": a whole number, a number, true or false,
// or text.
std::pair<std::string, NewModelOptions::Value> parse_key(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    fail<ValueError>("--key must be NAME=VALUE, got '{}'", text);
  const std::string value = text.substr(equals + 1);
  std::pair<std::string, NewModelOptions::Value> key{text.substr(0, equals), value};
  std::int64_t count = 0;
  double number = 0;
  if (cli::parse_number(value, count)) {
    key.second = count;
  } else if (cli::parse_number(value, number)) {
    key.second = number;
  } else if (value == "true" || value == "false") {
    key.second = value == "true";
  }
  return key;
}

int new_model_check(int argc, char** argv) {
  cli::App app(
      "Makes a tiny random model of an architecture and runs all checks on its builder: graph, "
      "files, "
      "passes, every node on every instruction set, chunks, workers, cache types, plans. Exit code "
      "1 "
      "if one failed.",
      "weft new-model-check");
  std::string name;
  std::vector<std::string> keys;
  NewModelOptions options;
  bool json = false;
  app.add_option("ARCHITECTURE", name, "as in general.architecture").required();
  app.add_option("--key", keys, "an additional key of the file, or a replacement of a usual one")
      .type_name("NAME=VALUE");
  app.add_option("--snapshot", options.snapshot,
                 "compare the plain graph with this DOT file, or create it")
      .type_name("FILE");
  app.add_flag("--json", json, "print the report as JSON");
  cli::add_extension_flag(app);
  app.footer(
      "An architecture of a library of your own: --extension; programs in C++ call "
      "check_new_model() of weft/check/new_model.h (docs/adding_a_model.md).\n"
      "Examples:\n"
      "  weft new-model-check qwen3\n"
      "  weft new-model-check llama --key llama.rope.freq_base=500000.0 --snapshot llama.dot");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  for (const std::string& key : keys) options.keys.push_back(parse_key(key));
  const SelfReport report = check_new_model(name, options);
  std::cout << (json ? report.to_json() + '\n' : report.to_text());
  return report.passed() ? 0 : 1;
}

}  // namespace

const Subcommand kNewModelCheck{"new-model-check", "runs all checks on a new architecture",
                                new_model_check};

}  // namespace weft::tools
