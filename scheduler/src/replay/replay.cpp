#include "replay/replay.h"

#include "machine/workers_impl.h"
#include "replay/flow_replay.h"

namespace weft::scheduler {
namespace {

class CrewReplay final : public Replay {
 public:
  CrewReplay(ReplayJob& job, Workers& workers) : job_(job), workers_(workers.impl()) {}
  void run() override {
    workers_.crew->run(job_, [&](int w) { workers_.crew_threads->call(w); });
  }

 private:
  ReplayJob& job_;
  Workers::Impl& workers_;
};

}  // namespace

std::unique_ptr<Replay> make_replay(ReplayKind kind, ReplayJob& job,
                                    const std::vector<PieceGroup>& pieces, Workers& workers) {
  if (kind == ReplayKind::flow)
    return std::make_unique<FlowReplay>(job, pieces, workers.impl().arena);
  return std::make_unique<CrewReplay>(job, workers);
}

}  // namespace weft::scheduler
