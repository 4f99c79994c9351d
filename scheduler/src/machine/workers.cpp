#include "weft/scheduler/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <oneapi/tbb/task_group.h>
#include <pthread.h>
#include <sched.h>

#include "weft/base/error.h"
#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"

#include "machine/cgroup.h"
#include "machine/cpu_mask.h"
#include "machine/topology.h"
#include "machine/workers_impl.h"

namespace weft {
namespace {

using namespace scheduler;

// Starts the threads. Otherwise they would start and enter the arena when they are first needed,
// possibly many runs later, since a fast caller does both lanes alone. Here all enter at once, so
// that their start-up allocations happen before the first run. If the machine is busy, some enter
// later.
void start_threads(oneapi::tbb::task_arena& arena, int n_workers) {
  arena.execute([&] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    std::atomic<int> n_inside{1};
    const auto meet = [&] {
      while (n_inside < n_workers && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    };
    oneapi::tbb::task_group group;
    for (int i = 1; i < n_workers; ++i) {
      group.run([&] {
        ++n_inside;
        meet();
      });
    }
    meet();
    group.wait();
  });
}

// Whether this process is the child of a fork and the parent had threads of oneTBB. They do not
// exist here, locks that they held stay locked, and oneTBB has no way to start again.
std::atomic<bool> threads_exist = false, threads_are_lost = false;

void lose_threads() {
  if (threads_exist) threads_are_lost = true;
}

bool may_use_threads() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, lose_threads);
  (void)registered;
  if (!threads_are_lost) threads_exist = true;
  return !threads_are_lost;
}

// The CPUs of a thread before it entered an arena whose threads are restricted to others; none if
// it is in no such arena.
thread_local std::optional<CpuMask> cpus_before;

int check_count(int n_workers) {
  if (n_workers < 1 || n_workers > kMaxWorkers)
    fail<ValueError>("workers must be 1 to {}, got {}", kMaxWorkers, n_workers);
  return n_workers;
}

// The maximum number of pieces of one group (pieces.h).
int max_pieces(int n_workers) {
  return n_workers <= kMaxSharedLanes ? n_workers * kMaxShares : n_workers;
}

}  // namespace

WorkerChoice choose_workers(int wanted) {
  if (wanted != 0) check_count(wanted);
  // CPUs that go offline or come later only matter if they are in the mask, which is read anew.
  static const NoDestructor<std::vector<Cpu>> cpus(read_topology(cgroup::system_files));
  return scheduler::choose_workers(*cpus,
                                   {.cpus = CpuMask::of_this_thread().cpus(),
                                    .quota = cgroup::cpu_quota(cgroup::system_files),
                                    .here = sched_getcpu()},
                                   wanted);
}

int default_workers() {
  return choose_workers().count;
}

// oneTBB lends its threads to the arenas of others, too.
void scheduler::ArenaThreads::on_scheduler_exit(bool) {
  if (cpus_before) cpus_before->apply();
  cpus_before.reset();
}

void scheduler::ArenaThreads::on_scheduler_entry(bool is_worker) {
  if (is_worker && cpus_ && !cpus_before) {
    cpus_before = CpuMask::of_this_thread();
    cpus_->apply();
  }
  static thread_local int filled = 0;
  const int n_tasks = 2 * max_pieces(n_workers_) + n_workers_ + 4;
  oneapi::tbb::task_group group;
  if (filled < n_tasks) {
    std::vector<oneapi::tbb::task_handle> tasks;
    for (int i = 0; i < n_tasks; ++i) tasks.push_back(group.defer([] {}));
    filled = n_tasks;
  }
  const int slot = oneapi::tbb::this_task_arena::current_thread_index();
  if (slot < 0 || slot >= n_workers_ ||
      slot_is_ready_[static_cast<std::size_t>(slot)].exchange(true))
    return;
  for (int i = 0; i < n_workers_; ++i) group.run([] {});
  group.wait();
}

void scheduler::Retire::operator()(ArenaThreads* threads) const {
  struct Retired {
    ForkMutex mutex;
    std::vector<std::unique_ptr<ArenaThreads>> all;
  };
  static NoDestructor<Retired> retired;  // threads may leave arenas while the process ends
  const std::lock_guard lock(retired->mutex);
  std::erase_if(retired->all, [](const auto& f) { return !f->is_observing(); });
  retired->all.emplace_back(threads);
}

Workers::Workers(int n_workers) : Workers(choose_workers(check_count(n_workers))) {}

Workers::Workers(const WorkerChoice& choice) : count_(choice.count) {
  const int n_workers = choice.count;
  using oneapi::tbb::global_control;
  impl_ = std::make_unique<Impl>();
  if (!may_use_threads()) {
    count_ = 1;
    return;
  }
  if (global_control::active_value(global_control::max_allowed_parallelism) <
      static_cast<std::size_t>(n_workers)) {
    impl_->allow = std::make_unique<global_control>(global_control::max_allowed_parallelism,
                                                    static_cast<std::size_t>(n_workers));
  }
  impl_->arena.initialize(n_workers, 1);
  impl_->arena_threads.reset(new ArenaThreads(impl_->arena, n_workers, choice.cpus));
  impl_->arena_threads->observe(true);
  if (n_workers == 1) return;
  start_threads(impl_->arena, n_workers);
  impl_->crew = std::make_unique<Crew>(n_workers);
  impl_->crew_threads = std::make_unique<CrewThreads>(impl_->arena, *impl_->crew, n_workers);
}

Workers::~Workers() = default;

}  // namespace weft
