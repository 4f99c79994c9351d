#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include "weft/scheduler/workers.h"

#include "crew.h"
#include "crew_threads.h"

namespace weft {
namespace scheduler {

// Why replay allocates nothing. oneTBB (2021.8) allocates in two places while a flow graph runs,
// and keeps what it got:
//  - the small objects behind tasks come from a pool per thread, to which they return also when
//    another thread frees them. Whoever ends the last piece before a join makes the tasks of all
//    pieces behind it;
//  - a slot of the arena makes its queue when it is first spawned into.
// When a thread first needs either depends on who happens to finish last at a join, so this could
// still happen after thousands of runs. Therefore every thread that enters the arena does both
// first, for as many tasks as can be on their way: the pieces before a join, which may not have
// been freed yet, those behind it, and one per thread.
//
// It is never switched off. If observe(false) meets a thread that leaves the arena, oneTBB can
// lose count of the observer and wait for it for ever when the arena goes. So it outlives the
// arena, whose end detaches it, and is deleted after that.
class PoolFiller : public oneapi::tbb::task_scheduler_observer {
 public:
  PoolFiller(oneapi::tbb::task_arena& arena, int n_workers)
      : task_scheduler_observer(arena),
        n_workers_(n_workers),
        slot_is_ready_(static_cast<std::size_t>(n_workers)) {}
  void on_scheduler_entry(bool is_worker) override;

 private:
  int n_workers_;
  std::vector<std::atomic<bool>> slot_is_ready_;
};

// Deletes the observer once its arena is gone.
struct Retire {
  void operator()(PoolFiller* filler) const;
};

}  // namespace scheduler

struct Workers::Impl {
  std::unique_ptr<oneapi::tbb::global_control>
      allow;  // if more threads are asked for than oneTBB makes by itself
  oneapi::tbb::task_arena arena;
  std::unique_ptr<scheduler::PoolFiller, scheduler::Retire> pool_filler;
  std::unique_ptr<scheduler::Crew> crew;  // none if there is one worker
  std::unique_ptr<scheduler::CrewThreads> crew_threads;
};

}  // namespace weft
