#include "launched.h"

#include <csignal>

#include "weft/run/ranks.h"
#include "weft/scheduler/communicator.h"

#include "common/program.h"
#include "rank_flags.h"

namespace weft::server {

void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool is_launched() {
  return launched_ranks() > 1;
}

int follow(const Flags& flags) {
  try {
    check_launched(flags);
    follow_rank_0(flags.model.path, cli::model_options(flags.model));
    return 0;
  } catch (const cli::UsageError&) {
    return cli::kWrongUsage;
  } catch (const RankError&) {
    return cli::kError;
  }
}

}  // namespace weft::server
