#pragma once
// The threads that run plans: a oneTBB arena of exactly n slots, the caller's included. Sized
// explicitly, because oneTBB's own default looks at neither container quotas nor what the user
// asked for. Workers spin briefly at a join, then park: an idle program uses no CPU. A run needs
// the calling thread alone; workers that are late, or do not come, are not waited for.

#include <memory>

namespace weft {

// Of a session; also the maximum of lanes of a plan.
inline constexpr int kMaxWorkers = 256;

// min(2, CPUs this process may use): the cgroup's CPU quota (rounded up) and the affinity mask,
// never less than 1.
int default_workers();

class Workers {
 public:
  explicit Workers(int n_workers);  // throws ValueError outside 1..kMaxWorkers
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
