#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include "weft/scheduler/workers.h"

#include "machine/cpu_mask.h"
#include "machine/crew.h"
#include "machine/crew_threads.h"

namespace weft {
namespace scheduler {

// Prepares threads that enter the arena. Those that oneTBB started are restricted to `cpus`, unless
// that is empty, until they leave. And it makes sure that replay does not allocate. oneTBB (2021.8)
// allocates in two places while a flow graph runs, and keeps the memory:
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
class ArenaThreads : public oneapi::tbb::task_scheduler_observer {
 public:
  ArenaThreads(oneapi::tbb::task_arena& arena, int n_workers, const std::vector<int>& cpus)
      : task_scheduler_observer(arena),
        n_workers_(n_workers),
        slot_is_ready_(static_cast<std::size_t>(n_workers)) {
    if (!cpus.empty()) cpus_.emplace(cpus);
  }
  void on_scheduler_entry(bool is_worker) override;
  void on_scheduler_exit(bool is_worker) override;

 private:
  int n_workers_;
  std::optional<CpuMask> cpus_;
  std::vector<std::atomic<bool>> slot_is_ready_;
};

// Deletes the observer once its arena is gone.
struct Retire {
  void operator()(ArenaThreads* threads) const;
};

}  // namespace scheduler

struct Workers::Impl {
  std::unique_ptr<oneapi::tbb::global_control>
      allow;  // if more threads are needed than oneTBB creates by default
  oneapi::tbb::task_arena arena;
  std::unique_ptr<scheduler::ArenaThreads, scheduler::Retire> arena_threads;
  std::unique_ptr<scheduler::Crew> crew;  // none if there is one worker
  std::unique_ptr<scheduler::CrewThreads> crew_threads;
};

}  // namespace weft
