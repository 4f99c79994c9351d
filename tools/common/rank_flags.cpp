#include "common/rank_flags.h"

#include "weft/base/error.h"
#include "weft/run/ranks.h"

#include "common/knob_flags.h"
#include "common/program.h"

namespace weft::cli {

Sharding sharding_of_flag(const std::string& text) {
  try {
    return parse_sharding(text);
  } catch (const ValueError& error) {
    reject_value("--shard", error.what());
  }
}

LinkSpeed link_of_flag(const std::string& flag, const std::string& text) {
  try {
    return parse_link(text);
  } catch (const ValueError& error) {
    reject_value(flag, error.what());
  }
}

void add_shard_flags(App& app, ModelFlags& flags) {
  app.add_option_function(
         "--shard", [&flags](const std::string& text) { flags.sharding = sharding_of_flag(text); },
         "divide the model among ranks: tp=N (parts of every layer), pp=N (some layers each), or "
         "tp=N,pp=M; ranks are threads, or the processes that mpirun started")
      .type_name("KIND=N");
  app.add_option_function(
         "--slow-link",
         [&flags](const std::string& text) { flags.slow_link = link_of_flag("--slow-link", text); },
         "let messages between ranks take as long as on a link with this latency and bandwidth, "
         "for example 1ms,1Gbit: to try what a network would do")
      .type_name("TIME,RATE");
  app.add_option("--rank-timeout", flags.rank_timeout,
                 "seconds until a rank of --shard that does not answer counts as lost")
      .check(number_check(/*whole=*/false, {.min = 0.1, .max = 1e6}))
      .type_name("N");
}

void add_rank_flag(App& app, ModelFlags& flags) {
  app.add_option("--rank", flags.rank, "the rank that is shown, if the model is divided by --shard")
      .type_name("N");
}

void check_rank_flag(int rank, const Sharding& sharding) {
  if (rank < 0 || rank >= sharding.ranks())
    fail<UsageError>("--rank must be from 0 to {}, got {}", sharding.ranks() - 1, rank);
}

void use_lone_rank(ModelFlags& flags) {
  check_rank_flag(flags.rank, flags.sharding);
  if (flags.sharding.ranks() > 1) flags.lone_rank = flags.rank;
}

void check_launch(const ModelFlags& flags) {
  if (flags.sharding.ranks() == 1 && launched_ranks() > 1)
    fail<UsageError>("{} ranks were started, but the model is not divided among them: give --shard",
                     launched_ranks());
}

void refuse_launch(std::string_view program) {
  if (launched_ranks() > 1)
    fail<UsageError>("{} ranks were started, but {} works alone: start it without mpirun",
                     launched_ranks(), program);
}

}  // namespace weft::cli
