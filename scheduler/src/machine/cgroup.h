#pragma once
// The limits of control groups (version 1 and 2) for this process. Files are read through a
// function, so that tests can replace them. Format: Linux kernel documentation,
// admin-guide/cgroup-v2.rst (cpu.max, memory.max) and scheduler/sched-bwc.rst,
// cgroup-v1/memory.rst.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cgroup {

// Contents of a file; nullopt if it cannot be read.
using Files = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> system_files(const std::string& path);

// The folders of the process's group for a controller ("" for version 2) and of its parent groups,
// innermost first. Lines of /proc/self/cgroup: "0::/user.slice" (version 2),
// "4:cpu,cpuacct:/docker/7f" (version 1). Within a container the group's path may not be visible
// below the mount point, which is then used instead.
std::vector<std::string> folders(const Files& files, std::string_view controller);
// The number that is all of a file; nullopt for other contents.
std::optional<std::int64_t> number_in(const Files& files, const std::string& path);

// The number of CPUs that this process may use, above 0: the minimum over its group and the parent
// groups; nullopt if there is no limit.
std::optional<double> cpu_quota(const Files& files);
// The same for bytes of memory.
std::optional<std::int64_t> memory_limit(const Files& files);
// The bytes that the system can still give without swapping: MemAvailable in /proc/meminfo.
std::optional<std::int64_t> memory_available(const Files& files);

}  // namespace weft::cgroup
