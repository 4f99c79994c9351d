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

// The library ends waits when its handler of SIGTERM is called. This program blocks the signal and
// reads it as an event, so that it can finish its requests first.
void end_rank_waits() {
  struct sigaction action {};
  if (sigaction(SIGTERM, nullptr, &action) != 0) return;
  if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) action.sa_handler(SIGTERM);
}

}  // namespace weft::server
