#pragma once
// Limits that the control groups of version 1 and 2 put on this process. Files come through a
// function so that tests can bring their own. Format: Linux kernel documentation,
// admin-guide/cgroup-v2.rst (cpu.max, memory.max) and scheduler/sched-bwc.rst,
// cgroup-v1/memory.rst.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weft::cgroup {

// Contents of a file; nullopt where it cannot be read.
using Files = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> system_files(const std::string& path);

// CPUs' worth of time this process may use, rounded up, the least over its group and the groups
// above; nullopt where nothing limits it.
std::optional<int> cpu_quota(const Files& files);
// Bytes of memory, likewise.
std::optional<std::int64_t> memory_limit(const Files& files);
// What the system could still give without swapping: MemAvailable of /proc/meminfo.
std::optional<std::int64_t> memory_available(const Files& files);

}  // namespace weft::cgroup
