#include "weft/check/selftest.h"

#include <iostream>

#include "common/flags.h"
#include "inputs/run_tokens.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int selftest(int argc, char** argv) {
  cli::App app(
      "Checks a model on this machine against itself: tensors, prefill = decode, chunks, workers, "
      "batches, prefix reuse, memory, NaN, tokenizer. Attach the report to a bug report. Exit code "
      "1 if a check failed.",
      "weft selftest");
  cli::ModelFlags flags;
  RunTokens tokens;
  bool json = false;
  cli::add_model_flags(app, flags);
  tokens.add_flags(app);
  app.add_flag("--json", json, "print the report as JSON");
  app.footer(
      "Examples:\n"
      "  weft selftest -m model.gguf\n"
      "  weft selftest -m model.gguf -p 'A prompt that goes wrong'");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  SelftestOptions options{.session = flags.session};
  if (tokens.given()) options.tokens = tokens.of(*model);
  const SelfReport report = weft::selftest(model, options);
  std::cout << (json ? report.to_json() + '\n' : "weft " WEFT_VERSION "\n" + report.to_text());
  return report.passed() ? 0 : 1;
}

}  // namespace

const Subcommand kSelftest{
    "selftest", "checks a model against itself: chunks, workers, batches, memory, tokenizer",
    selftest};

}  // namespace weft::tools
