#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include "weft/scheduler/workers.h"

#include "machine/crew.h"
#include "machine/crew_threads.h"

namespace weft {
namespace scheduler {

// Makes sure that replay does not allocate. oneTBB (2021.8) allocates in two places while a flow
// graph runs, and keeps the memory:
//  - the small objects of tasks come from a pool per thread, to which they return even if another
//    thread frees them. The thread that ends the last piece before a join creates the tasks of all
//    pieces after it;
//  - a slot of the arena creates its queue when a task is first spawned into it.
// When a thread first needs either depends on which thread finishes last at a join, so it could
// happen after thousands of runs. Therefore every thread that enters the arena does both first, for
// the maximum number of pending tasks: the pieces before a join, which may not have been freed yet,
// those after it, and one per thread.
//
// The observer is never switched off. If observe(false) coincides with a thread leaving the arena,
// oneTBB can lose count of the observer's users and wait forever when the arena is destroyed. So
// the observer outlives the arena, whose destruction detaches it, and is deleted after that.
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
      allow;  // if more threads are needed than oneTBB creates by default
  oneapi::tbb::task_arena arena;
  std::unique_ptr<scheduler::PoolFiller, scheduler::Retire> pool_filler;
  std::unique_ptr<scheduler::Crew> crew;  // none if there is one worker
  std::unique_ptr<scheduler::CrewThreads> crew_threads;
};

}  // namespace weft
