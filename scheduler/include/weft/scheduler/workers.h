#pragma once
// The threads that run plans: a oneTBB arena of exactly n slots, including the caller's. Sized
// explicitly, because oneTBB's default ignores container quotas. Workers spin briefly at a join,
// then park, so that an idle program uses no CPU. A run needs only the calling thread: it does not
// wait for workers that are late or never start.

#include <memory>
#include <string>
#include <vector>

namespace weft {

// Per session; also the maximum number of lanes of a plan.
inline constexpr int kMaxWorkers = 256;

struct WorkerChoice {
  int count = 1;
  // The ids of the CPUs to which the threads that Weft starts are restricted, ascending: a NUMA
  // node, or its big cores. Empty: not restricted. Only if the calling thread may use all CPUs of
  // the machine, there is no quota, and a core remains to spare. The calling thread itself stays as
  // it is.
  std::vector<int> cpus;
  // "2 workers, the default: 8 CPUs, 4 cores; affinity 0-3; no quota; a core for each, not pinned"
  std::string reason;
};

// What the machine's topology, the affinity mask of the calling thread and the cgroup's CPU quota
// lead to. wanted: 1..kMaxWorkers, or 0 for the default: min(2, CPUs that this process may use), at
// least 1, with the quota rounded up. Siblings of one core count as two: while one waits for
// memory, the other computes. Throws ValueError for other values.
WorkerChoice choose_workers(int wanted = 0);
int default_workers();  // the count of choose_workers()

class Workers {
 public:
  // As choose_workers(n_workers), which throws. In the child of a fork, if the parent had workers,
  // the calling thread is the only one.
  explicit Workers(int n_workers);
  explicit Workers(const WorkerChoice& choice);  // REQUIRES: its count is in 1..kMaxWorkers
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return count_; }

  struct Impl;  // oneTBB stays inside scheduler/
  Impl& impl() const { return *impl_; }

 private:
  int count_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
