#pragma once
// The threads that run plans: a oneTBB arena of exactly n slots, including the caller's. Sized
// explicitly, because oneTBB's default ignores container quotas. Workers spin briefly at a join,
// then park, so that an idle program uses no CPU. A run needs only the calling thread: it does not
// wait for workers that are late or never start.

#include <memory>

namespace weft {

// Per session; also the maximum number of lanes of a plan.
inline constexpr int kMaxWorkers = 256;

// min(2, CPUs that this process may use), at least 1. Considers the cgroup's CPU quota (rounded up)
// and the affinity mask.
int default_workers();

class Workers {
 public:
  // Throws ValueError outside 1..kMaxWorkers. In the child of a fork, if the parent had workers,
  // the calling thread is the only one.
  explicit Workers(int n_workers);
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
