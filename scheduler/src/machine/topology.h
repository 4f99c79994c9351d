#pragma once
// What the system says about its CPUs: which ones are siblings (hardware threads) of one core,
// which cores are slower than others, which NUMA node they belong to. And the choice of workers
// that follows from it. Files are read through a function, so that tests can replace them. Formats:
// Linux kernel documentation, ABI/stable/sysfs-devices-system-cpu,
// ABI/testing/sysfs-devices-system-cpu (cpu_capacity, cpufreq); the hybrid units cpu_core and
// cpu_atom are those of perf-intel-hybrid(1).
//
// hwloc knows more (caches, sockets, devices), but nothing else that this choice needs, and would
// be a library more to load at each start.

#include <optional>
#include <vector>

#include "weft/scheduler/workers.h"

#include "machine/cgroup.h"

namespace weft::scheduler {

struct Cpu {
  int id = 0;
  int core = 0;  // the lowest id of the core's CPUs
  int node = 0;  // NUMA
  bool little = false;
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

// The CPUs that are online, by id; empty if the system does not tell. What is missing or makes no
// sense is replaced: each CPU is a core of its own, none is little, all belong to node 0.
std::vector<Cpu> read_topology(const cgroup::Files& files);

// What this process may use.
struct Permitted {
  std::vector<int> cpus;        // its affinity mask, by id; empty: unknown
  std::optional<double> quota;  // CPUs
  int here = -1;                // the CPU that the thread runs on; -1: unknown
};

// Workers get cores before siblings, big cores before little ones, and one NUMA node, preferably
// the one that the thread is on. `wanted` is 0 for the default, or 1..kMaxWorkers.
WorkerChoice choose_workers(const std::vector<Cpu>& cpus, const Permitted& permitted, int wanted);

}  // namespace weft::scheduler
