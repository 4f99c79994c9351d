#include "rank_flags.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/modes.h"
#include "weft/scheduler/communicator.h"

#include "common/app.h"
#include "common/program.h"
#include "supervise.h"

namespace weft::server {
namespace {

// What a sharded model cannot do.
void check_sharded(const Flags& flags) {
  const std::string shard = to_string(flags.model.sharding);
  if (!flags.slot_folder.empty())
    fail<cli::UsageError>("--slot-save-path: {} (--shard {})",
                          why_not(Feature::saving, Mode::sharded), shard);
  if (!flags.snapshot_folder.empty())
    fail<cli::UsageError>("--cache-dir: {} (--shard {})", why_not(Feature::saving, Mode::sharded),
                          shard);
  for (const DraftKind kind : flags.drafts.speculation.kinds) {
    if (uses_draft_layer(kind))
      fail<cli::UsageError>("--spec-type {}: {} (--shard {})", to_string(kind),
                            why_not(Feature::draft_layer, Mode::sharded), shard);
  }
}

}  // namespace

void add_rank_flags(cli::App& app, Flags& flags) {
  app.add_option("--launch", flags.launch,
                 "starts COMMAND, followed by this program with the other arguments, and ends when "
                 "it does: --launch \"mpirun -n 2 --host a,b\" --shard tp=2. Signals are passed on")
      .check([](const std::string& text) {
        try {
          return std::string(split_words(text).empty() ? "is empty" : "");
        } catch (const ValueError& error) {
          return std::string(error.what());
        }
      })
      .type_name("COMMAND");
  app.add_flag("--restart", flags.restart,
               "when a rank of --shard is lost, load the model again; with --launch, start COMMAND "
               "again, after pauses of 1 to 30 s");
}

void check_rank_flags(const Flags& flags, bool key_given) {
  const bool sharded = flags.model.sharding.ranks() > 1;
  if (sharded) check_sharded(flags);
  if (!flags.launch.empty() && key_given)
    fail<cli::UsageError>(
        "--launch would show --api-key in lists of processes: use --api-key-file or WEFT_API_KEY");
  if (flags.restart && flags.launch.empty() && !sharded)
    fail<cli::UsageError>("--restart needs --shard or --launch");
}

void check_launched(const Flags& flags) {
  const int ranks = launched_ranks();
  if (!flags.launch.empty())
    fail<cli::UsageError>(
        "--launch starts a launcher of ranks, but this program was itself started as one of {} "
        "ranks",
        ranks);
  if (flags.restart)
    fail<cli::UsageError>(
        "--restart: a process that mpirun started cannot start the others again: leave mpirun to "
        "--launch \"mpirun -n {} ...\"",
        ranks);
  if (!flags.one_model())
    fail<cli::UsageError>(
        "the ranks of {} are processes, which serve one model: start without mpirun, so that each "
        "model has threads of its own",
        flags.models_dir.empty() ? "--models-file" : "--models-dir");
  if (flags.model.sharding.ranks() != ranks)
    fail<cli::UsageError>("{} ranks were started, but --shard names {}", ranks,
                          flags.model.sharding.ranks());
}

std::vector<std::string> without_launch(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--launch")
      ++i;  // its value
    else if (arguments[i] != "--restart" && !arguments[i].starts_with("--launch="))
      kept.push_back(arguments[i]);
  }
  return kept;
}

}  // namespace weft::server
