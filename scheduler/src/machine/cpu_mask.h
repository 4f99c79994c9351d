#pragma once
// Which CPUs a thread may run on, as a sorted list of their ids, and the notation of Linux for such
// lists ("0-3,8"; admin-guide/cputopology.rst). sched_getaffinity() already leaves out CPUs outside
// the control group's cpuset, and those that are offline.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sched.h>

namespace weft::scheduler {

// nullopt unless it is a list of ids below 8192; an empty text is an empty list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string cpu_list_text(const std::vector<int>& cpus);

// Allocates nothing, except in cpus().
class CpuMask {
 public:
  explicit CpuMask(std::span<const int> cpus);  // ids outside 0..8191 are ignored
  // That of the calling thread; empty if the system does not tell.
  static CpuMask of_this_thread();
  // Restricts the calling thread to these CPUs. False if the system refuses, for example because
  // none of them is online.
  bool apply() const;
  std::vector<int> cpus() const;

 private:
  std::array<cpu_set_t, 8> sets_;
};

}  // namespace weft::scheduler
