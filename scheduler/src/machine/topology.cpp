#include "machine/topology.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "machine/cpu_mask.h"

namespace weft::scheduler {
namespace {

constexpr const char* kCpuFolder = "/sys/devices/system/cpu/";

std::vector<int> list_in(const cgroup::Files& files, const std::string& path) {
  const auto text = files(path);
  return text ? parse_cpu_list(*text).value_or(std::vector<int>()) : std::vector<int>();
}

bool contains(const std::vector<int>& sorted, int id) {
  return std::ranges::binary_search(sorted, id);
}

int core_of(const cgroup::Files& files, int id) {
  const std::string folder = fmt::format("{}cpu{}/topology/", kCpuFolder, id);
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {  // the latter: until 5.3
    const std::vector<int> siblings = list_in(files, folder + name);
    if (contains(siblings, id)) return siblings.front();
  }
  return id;
}

// How fast each CPU is, in no particular unit; 0: unknown.
std::vector<std::int64_t> speeds_in(const cgroup::Files& files, const std::vector<Cpu>& cpus) {
  std::vector<std::int64_t> speeds;
  for (const char* name : {"cpu_capacity", "cpufreq/cpuinfo_max_freq"}) {
    speeds.clear();
    for (const Cpu& cpu : cpus)
      speeds.push_back(cgroup::number_in(files, fmt::format("{}cpu{}/{}", kCpuFolder, cpu.id, name))
                           .value_or(0));
    if (std::ranges::count(speeds, 0) == 0) break;
  }
  return speeds;
}

// Cores of one kind differ, too: by the capacities and frequencies of the best ones that a maker
// selects, about a tenth.
bool is_little(std::int64_t speed, std::int64_t fastest) {
  return speed > 0 && speed < fastest / 5 * 4;
}

void find_little(const cgroup::Files& files, std::vector<Cpu>& cpus) {
  std::vector<int> small;  // Intel's names for its kinds of cores
  for (const char* kind : {"cpu_atom", "cpu_lowpower"}) {
    const std::vector<int> ids = list_in(files, fmt::format("/sys/devices/{}/cpus", kind));
    small.insert(small.end(), ids.begin(), ids.end());
  }
  std::ranges::sort(small);
  const std::vector<std::int64_t> speeds = speeds_in(files, cpus);
  const std::int64_t fastest = *std::ranges::max_element(speeds);
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    cpus[i].little = small.empty() ? is_little(speeds[i], fastest) : contains(small, cpus[i].id);
  }
}

// The permitted CPUs; those that the system does not describe are cores of their own.
std::vector<Cpu> permitted_cpus(const std::vector<Cpu>& cpus, const std::vector<int>& mask) {
  if (mask.empty()) return cpus.empty() ? std::vector<Cpu>{Cpu{}} : cpus;
  std::vector<Cpu> out;
  for (const int id : mask) {
    const auto known = std::ranges::find(cpus, id, &Cpu::id);
    out.push_back(known == cpus.end() ? Cpu{.id = id, .core = id} : *known);
  }
  return out;
}

template <class Value>
int n_different(const std::vector<Cpu>& cpus, Value Cpu::*member) {
  std::set<Value> all;
  for (const Cpu& cpu : cpus) all.insert(cpu.*member);
  return static_cast<int>(all.size());
}
int n_cores(const std::vector<Cpu>& cpus) {
  return n_different(cpus, &Cpu::core);
}

template <class Wanted>
std::vector<Cpu> those(const std::vector<Cpu>& cpus, Wanted wanted) {
  std::vector<Cpu> out;
  std::ranges::copy_if(cpus, std::back_inserter(out), wanted);
  return out;
}

// The CPUs of a node that has a core for each worker: the one of CPU `here`, or else the largest
// one. All CPUs if there is none.
std::vector<Cpu> one_node(const std::vector<Cpu>& cpus, int workers, int here) {
  std::set<int> nodes;
  for (const Cpu& cpu : cpus) nodes.insert(cpu.node);
  std::vector<Cpu> best;
  for (const int node : nodes) {
    std::vector<Cpu> own = those(cpus, [&](const Cpu& cpu) { return cpu.node == node; });
    if (n_cores(own) < workers) continue;
    if (std::ranges::find(own, here, &Cpu::id) != own.end()) return own;
    if (n_cores(own) > n_cores(best)) best = std::move(own);
  }
  return best.empty() ? cpus : best;
}

std::vector<Cpu> suitable(const std::vector<Cpu>& cpus, int workers, int here) {
  std::vector<Cpu> near = one_node(cpus, workers, here);
  std::vector<Cpu> big = those(near, [](const Cpu& cpu) { return !cpu.little; });
  return n_cores(big) >= workers ? big : near;
}

std::vector<int> ids(const std::vector<Cpu>& cpus) {
  std::vector<int> out;
  for (const Cpu& cpu : cpus) out.push_back(cpu.id);
  return out;
}

std::string counted(int n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string machine_text(const std::vector<Cpu>& cpus) {
  if (cpus.empty()) return "CPUs unknown";
  const int n = static_cast<int>(cpus.size()), nodes = n_different(cpus, &Cpu::node);
  std::string text = fmt::format("{}, {}", counted(n, "CPU"), counted(n_cores(cpus), "core"));
  const auto big = those(cpus, [](const Cpu& cpu) { return !cpu.little; });
  if (big.size() < cpus.size()) text += fmt::format(" ({} big)", n_cores(big));
  return nodes > 1 ? text + fmt::format(", {} NUMA nodes", nodes) : text;
}

std::string place_text(const std::vector<Cpu>& permitted, const std::vector<Cpu>& place, int n) {
  const bool big =
      std::ranges::none_of(place, &Cpu::little) && std::ranges::any_of(permitted, &Cpu::little);
  const int cores = n_cores(place);
  if (n > std::ssize(permitted)) return "more workers than CPUs";
  if (n > cores && cores == 1) return "siblings of one core, as there is no other";
  if (n > cores) return "some are siblings of one core, as there are not enough cores";
  return fmt::format("{}{}", big ? "a big core" : "a core", n == 1 ? "" : " for each");
}

}  // namespace

std::vector<Cpu> read_topology(const cgroup::Files& files) {
  std::vector<Cpu> cpus;
  for (const int id : list_in(files, std::string(kCpuFolder) + "online"))
    cpus.push_back({.id = id, .core = core_of(files, id)});
  if (cpus.empty()) return cpus;
  for (const int node : list_in(files, "/sys/devices/system/node/online")) {
    const std::vector<int> own =
        list_in(files, fmt::format("/sys/devices/system/node/node{}/cpulist", node));
    for (Cpu& cpu : cpus) {
      if (contains(own, cpu.id)) cpu.node = node;
    }
  }
  find_little(files, cpus);
  return cpus;
}

WorkerChoice choose_workers(const std::vector<Cpu>& cpus, const Permitted& permitted, int wanted) {
  const std::vector<Cpu> usable = permitted_cpus(cpus, permitted.cpus);
  int standard = std::min(2, static_cast<int>(usable.size()));
  if (permitted.quota && *permitted.quota <= 1) standard = 1;
  WorkerChoice choice{.count = wanted > 0 ? wanted : standard};
  const std::vector<Cpu> place = suitable(usable, choice.count, permitted.here);
  // A narrower mask or a quota is somebody's decision about how this machine is shared. And without
  // a core to spare, a worker could not get out of the way of another process.
  const bool all_are_permitted = usable.size() >= cpus.size() && !permitted.quota;
  if (all_are_permitted && place.size() < usable.size() && n_cores(place) > choice.count)
    choice.cpus = ids(place);
  choice.reason = fmt::format(
      "{}, {}: {}; {}; {}; {}{}", counted(choice.count, "worker"),
      choice.count == standard ? "the default" : fmt::format("not the default of {}", standard),
      machine_text(cpus),
      usable.size() < cpus.size() ? "affinity " + cpu_list_text(ids(usable)) : "no affinity mask",
      permitted.quota ? fmt::format("quota {:.4g} CPUs", *permitted.quota) : "no quota",
      place_text(usable, place, choice.count),
      choice.cpus.empty() ? ", not pinned" : ", on CPUs " + cpu_list_text(choice.cpus));
  return choice;
}

}  // namespace weft::scheduler
