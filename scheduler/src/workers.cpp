#include "weft/scheduler/workers.h"

#include <algorithm>

#include <sched.h>

#include "weft/graph/error.h"

#include "cgroup.h"
#include "workers_impl.h"

namespace weft {
namespace {

int cpus_in_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return std::max(1, CPU_COUNT(&mask));
}

}  // namespace

int default_workers() {
  int n = std::min(2, cpus_in_mask());
  if (const auto quota = cgroup::cpu_quota(cgroup::system_files)) n = std::min(n, *quota);
  return std::max(1, n);
}

Workers::Workers(int n_workers) : count_(n_workers) {
  if (n_workers < 1 || n_workers > 256)
    fail<ValueError>("workers must be 1 to 256, got {}", n_workers);
  using oneapi::tbb::global_control;
  impl_ = std::make_unique<Impl>();
  if (global_control::active_value(global_control::max_allowed_parallelism) <
      static_cast<std::size_t>(n_workers)) {
    impl_->allow = std::make_unique<global_control>(global_control::max_allowed_parallelism,
                                                    static_cast<std::size_t>(n_workers));
  }
  impl_->arena.initialize(n_workers, 1);
}

Workers::~Workers() = default;

}  // namespace weft
