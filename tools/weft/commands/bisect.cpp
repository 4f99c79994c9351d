#include "weft/check/bisect.h"

#include <iostream>

#include "common/flags.h"
#include "inputs/run_tokens.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int bisect(int argc, char** argv) {
  cli::App app(
      "Finds the pass or kernel that makes a model wrong: disables passes and replaces kernels by "
      "their definitions until the logits are right. Exit code 1 if it finds one.",
      "weft bisect");
  cli::ModelFlags flags;
  RunTokens tokens;
  double max_nmse = 0;
  bool quiet = false;
  cli::add_model_flags(app, flags);
  tokens.add_flags(app);
  app.add_option(
         "--max-nmse", max_nmse,
         "normalized squared error above which logits count as wrong; 0: derived from rounding "
         "errors")
      .not_negative()
      .type_name("X");
  app.add_flag("-q,--quiet", quiet, "do not print a line per trial");
  app.footer(
      "Unlike weft verify, which compares nodes of the graph after the passes, this also finds a "
      "pass that makes a wrong graph.\n"
      "Examples:\n"
      "  weft bisect -m model.gguf\n"
      "  weft bisect -m model.gguf --random 64 --max-nmse 1e-4");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  BisectOptions options{
      .session = flags.session, .tokens = tokens.of(*model), .max_nmse = max_nmse};
  options.session.progress = {};
  if (!quiet) options.progress = [](const std::string& line) { std::cerr << line << '\n'; };
  const Bisection result = weft::bisect(model, options);
  std::cout << result.to_text();
  return result.culprit == Bisection::Culprit::none ? 0 : 1;
}

}  // namespace

const Subcommand kBisect{"bisect", "finds the pass or kernel that makes a model wrong", bisect};

}  // namespace weft::tools
