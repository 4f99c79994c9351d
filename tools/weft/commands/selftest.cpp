#include "weft/check/selftest.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/check/rank_checks.h"
#include "weft/run/ranks.h"

#include "common/flags.h"
#include "inputs/run_tokens.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  RunTokens tokens;
  bool json = false;
  bool model_given = false;
};

// Also on ranks other than 0, which return without checks.
SelfReport check_ranks_of(const Flags& flags) {
  const Sharding& sharding = flags.model.sharding;
  return {.about = fmt::format("ranks: {}\n", to_string(sharding)),
          .checks = weft::check_ranks({.sharding = sharding,
                                       .timeout = flags.model.rank_timeout,
                                       .slow_link = flags.model.slow_link,
                                       .session = flags.model.session})};
}

SelfReport check_model(const Flags& flags) {
  const auto model = cli::load_model(flags.model);
  SelftestOptions options{.session = flags.model.session};
  if (flags.tokens.given()) options.tokens = flags.tokens.of(*model);
  return weft::selftest(model, options);
}

SelfReport check(const Flags& flags) {
  if (flags.model.sharding.ranks() == 1) return check_model(flags);
  SelfReport report = check_ranks_of(flags);
  if (!flags.model_given || !report.passed()) return report;
  SelfReport of_model = check_model(flags);
  report.about += of_model.about;
  std::ranges::move(of_model.checks, std::back_inserter(report.checks));
  return report;
}

// Throws UsageError for flags that the checks of ranks alone do not have.
void refuse_flags_of_models(const cli::App& app) {
  for (const char* flag :
       {"--ctx-size", "--batch-size", "--weights", "--weight-cache", "--mem-budget", "--quantize",
        "--lora", "--control-vector", "--override-kv", "--prompt", "--tokens", "--random"}) {
    if (app.get_option(flag).given())
      fail<cli::UsageError>("{} needs a model, which -m names: --shard alone checks ranks", flag);
  }
}

int selftest(int argc, char** argv) {
  cli::App app(
      "Checks a model on this machine against itself: tensors, prefill = decode, chunks, workers, "
      "batches, prefix reuse, memory, NaN, tokenizer; with --shard, also ranks. Attach the report "
      "to a bug report. Exit code 1 if a check failed.",
      "weft selftest");
  Flags flags;
  cli::add_model_flags(app, flags.model);
  flags.tokens.add_flags(app);
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.footer(
      "With --shard, it first checks that ranks work together: messages between them, and a small "
      "made model that they compute. A model is only checked if -m names it.\n"
      "Examples:\n"
      "  weft selftest -m model.gguf\n"
      "  weft selftest -m model.gguf -p 'A prompt that goes wrong'\n"
      "  mpirun --host a,b weft selftest --shard tp=2");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  flags.model_given = app.get_option("--model").given();
  if (flags.model.sharding.ranks() > 1 && !flags.model_given) refuse_flags_of_models(app);

  const SelfReport report = check(flags);
  if (follows_rank_0()) return 0;
  std::cout << (flags.json ? report.to_json() + '\n'
                           : "weft " WEFT_VERSION "\n" + report.to_text());
  return report.passed() ? 0 : 1;
}

}  // namespace

const Subcommand kSelftest{
    "selftest", "checks a model against itself: chunks, workers, batches, memory, tokenizer",
    selftest};

}  // namespace weft::tools
