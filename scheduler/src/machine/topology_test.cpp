// The choice of workers on made machines, and the restriction of threads to CPUs.

#include "machine/topology.h"

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <oneapi/tbb/task_group.h>

#include "machine/cpu_mask.h"
#include "machine/workers_impl.h"

namespace weft {
namespace {

using namespace scheduler;

// The files of a machine.
struct Machine {
  std::map<std::string, std::string> files;

  void online(const std::string& cpus) { files["/sys/devices/system/cpu/online"] = cpus + '\n'; }
  void cpu(int id, const std::string& name, const std::string& text) {
    files[fmt::format("/sys/devices/system/cpu/cpu{}/{}", id, name)] = text + '\n';
  }
  void core(const std::string& siblings) {
    const std::vector<int> ids = parse_cpu_list(siblings).value();
    for (const int id : ids) cpu(id, "topology/core_cpus_list", siblings);
  }
  void node(int id, const std::string& cpus) {
    files["/sys/devices/system/node/online"] = fmt::format("0-{}\n", id);
    files[fmt::format("/sys/devices/system/node/node{}/cpulist", id)] = cpus + '\n';
  }
  std::vector<Cpu> read() const {
    return read_topology([this](const std::string& path) -> std::optional<std::string> {
      const auto it = files.find(path);
      return it == files.end() ? std::nullopt : std::optional(it->second);
    });
  }
  // With an affinity mask; "": all CPUs.
  WorkerChoice choose(const std::string& mask = "", std::optional<double> quota = {},
                      int wanted = 0, int here = 0) const {
    const auto text = mask.empty() ? files.at("/sys/devices/system/cpu/online") : mask;
    return choose_workers(
        read(), {.cpus = parse_cpu_list(text).value(), .quota = quota, .here = here}, wanted);
  }
};

Machine laptop() {
  Machine m;
  m.online("0-7");
  for (int i = 0; i < 4; ++i) m.core(fmt::format("{},{}", i, i + 4));
  m.node(0, "0-7");
  return m;
}

// 6 big cores of two siblings, 8 little ones.
Machine hybrid() {
  Machine m;
  m.online("0-19");
  for (int i = 0; i < 12; i += 2) m.core(fmt::format("{}-{}", i, i + 1));
  for (int i = 12; i < 20; ++i) m.core(std::to_string(i));
  m.files["/sys/devices/cpu_core/cpus"] = "0-11\n";
  m.files["/sys/devices/cpu_atom/cpus"] = "12-19\n";
  return m;
}

Machine server() {
  Machine m;
  m.online("0-15");
  for (int i = 0; i < 8; ++i) m.core(fmt::format("{},{}", i, i + 8));
  m.node(0, "0-3,8-11");
  m.node(1, "4-7,12-15");
  return m;
}

// One fastest core, three that are nearly as fast, four slow ones.
Machine phone() {
  Machine m;
  m.online("0-7");
  for (int i = 0; i < 8; ++i) m.core(std::to_string(i));
  const int capacities[] = {325, 325, 325, 325, 871, 871, 871, 1024};
  for (int i = 0; i < 8; ++i) m.cpu(i, "cpu_capacity", std::to_string(capacities[i]));
  return m;
}

TEST_CASE("lists of CPUs") {
  CHECK(parse_cpu_list("0-3,8,10-11\n") == std::vector{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("\n") == std::vector<int>{});
  CHECK(cpu_list_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10,11");
  CHECK(cpu_list_text({}).empty());
  for (const char* bad : {"x", "-1", "1-", "3-1", "0,", ",0", "0,0", "0-3,2", "8192", "0-99999999",
                          "0-3 4", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(parse_cpu_list(bad) == std::nullopt);
  }
}

TEST_CASE("siblings of a core") {
  const std::vector<Cpu> cpus = laptop().read();
  REQUIRE(cpus.size() == 8);
  CHECK(cpus[5] == Cpu{.id = 5, .core = 1});
  CHECK(laptop().choose().reason ==
        "2 workers, the default: 8 CPUs, 4 cores; no affinity mask; no quota; a core for each, not "
        "pinned");
  CHECK(laptop().choose().cpus.empty());
  CHECK(laptop().choose("0-3").reason ==
        "2 workers, the default: 8 CPUs, 4 cores; affinity 0-3; no quota; a core for each, not "
        "pinned");
  const WorkerChoice siblings = laptop().choose("1,5");
  CHECK(siblings.count == 2);
  CHECK(siblings.reason ==
        "2 workers, the default: 8 CPUs, 4 cores; affinity 1,5; no quota; siblings of one core, as "
        "there is no other, not pinned");
  CHECK(laptop().choose("0,1,5", {}, 3).reason ==
        "3 workers, not the default of 2: 8 CPUs, 4 cores; affinity 0,1,5; no quota; some are "
        "siblings of one core, as there are not enough cores, not pinned");
  CHECK(laptop().choose("2").count == 1);
  Machine old = laptop();  // before Linux 5.4
  for (int i = 0; i < 8; ++i) {
    old.cpu(i, "topology/thread_siblings_list", fmt::format("{},{}", i % 4, i % 4 + 4));
    old.files.erase(fmt::format("/sys/devices/system/cpu/cpu{}/topology/core_cpus_list", i));
  }
  CHECK(old.read() == cpus);
}

TEST_CASE("big and little cores") {
  const WorkerChoice two = hybrid().choose();
  CHECK(two.reason ==
        "2 workers, the default: 20 CPUs, 14 cores (6 big); no affinity mask; no quota; a big core "
        "for each, on CPUs 0-11");
  CHECK(cpu_list_text(two.cpus) == "0-11");
  // Without a core to spare, and with more workers than big cores, nothing is restricted.
  CHECK(hybrid().choose("", {}, 5).cpus.size() == 12);
  CHECK(hybrid().choose("", {}, 6).cpus.empty());
  CHECK(hybrid().choose("", {}, 14).count == 14);
  CHECK(hybrid().choose("0-17").cpus.empty());
  CHECK(hybrid().choose("", 4.0).cpus.empty());
  CHECK(hybrid().choose("12-15").reason ==
        "2 workers, the default: 20 CPUs, 14 cores (6 big); affinity 12-15; no quota; a core for "
        "each, not pinned");
  CHECK(cpu_list_text(phone().choose().cpus) == "4-7");
  Machine by_frequency = phone();
  for (int i = 0; i < 8; ++i) {
    by_frequency.files.erase(fmt::format("/sys/devices/system/cpu/cpu{}/cpu_capacity", i));
    by_frequency.cpu(i, "cpufreq/cpuinfo_max_freq", i < 4 ? "1800000" : "3000000");
  }
  CHECK(by_frequency.read() == phone().read());
  // Cores of one kind, of which the maker selected the best ones.
  for (int i = 0; i < 8; ++i)
    by_frequency.cpu(i, "cpufreq/cpuinfo_max_freq", i < 4 ? "4900000" : "5400000");
  CHECK(by_frequency.choose().cpus.empty());
}

TEST_CASE("NUMA nodes") {
  CHECK(server().choose("", {}, 0, 3).reason ==
        "2 workers, the default: 16 CPUs, 8 cores, 2 NUMA nodes; no affinity mask; no quota; a "
        "core for each, on CPUs 0-3,8-11");
  CHECK(cpu_list_text(server().choose("", {}, 0, 13).cpus) == "4-7,12-15");
  CHECK(cpu_list_text(server().choose("", {}, 0, -1).cpus) == "0-3,8-11");
  CHECK(server().choose("", {}, 4).cpus.empty());
  CHECK(server().choose("", {}, 8).reason.ends_with("a core for each, not pinned"));
  CHECK(server().choose("", {}, 32).count == 32);
  CHECK(server().choose("", {}, 32).reason.ends_with("more workers than CPUs, not pinned"));
}

TEST_CASE("quotas limit the default only") {
  CHECK(laptop().choose("", 1.5).count == 2);
  CHECK(laptop().choose("", 1.5).reason ==
        "2 workers, the default: 8 CPUs, 4 cores; no affinity mask; quota 1.5 CPUs; a core for "
        "each, not pinned");
  CHECK(laptop().choose("", 1.0).count == 1);
  CHECK(laptop().choose("", 0.1).count == 1);
  CHECK(laptop().choose("", 1.00001).count == 2);
  CHECK(laptop().choose("", 1.0, 3).count == 3);
  CHECK(laptop().choose("", 1.0).reason ==
        "1 worker, the default: 8 CPUs, 4 cores; no affinity mask; quota 1 CPUs; a core, not "
        "pinned");
}

TEST_CASE("machines that tell nothing, or nonsense") {
  const WorkerChoice unknown = choose_workers({}, {}, 0);
  CHECK(unknown.count == 1);
  CHECK(unknown.reason ==
        "1 worker, the default: CPUs unknown; no affinity mask; no quota; a core, not pinned");
  CHECK(choose_workers({}, {.cpus = {2, 3}}, 0).count == 2);
  CHECK(choose_workers({}, {.cpus = {2, 3}}, 0).cpus.empty());
  Machine m;
  m.online("0-3");
  const std::vector<Cpu> plain = m.read();
  REQUIRE(plain.size() == 4);
  CHECK(plain[3] == Cpu{.id = 3, .core = 3});
  m.core("0-1");
  m.cpu(0, "topology/core_cpus_list", "7-9");  // without the CPU itself
  m.cpu(1, "topology/core_cpus_list", "0-99999999999");
  m.cpu(0, "cpu_capacity", "-5");
  m.cpu(1, "cpu_capacity", "99999999999999999999");
  m.cpu(2, "cpufreq/cpuinfo_max_freq", "fast");
  m.node(0, "3-0");
  m.files["/sys/devices/system/node/online"] = "0-8191\n";
  m.files["/sys/devices/cpu_atom/cpus"] = "\x01\xff";
  CHECK(m.read() == plain);
  m.online("0-8192");
  CHECK(m.read().empty());
}

TEST_CASE("threads of a restricted arena run on its CPUs, and the caller stays where it is") {
  const std::vector<int> before = CpuMask::of_this_thread().cpus();
  REQUIRE(!before.empty());
  const std::vector<int> last{before.back()};
  Workers workers(WorkerChoice{.count = 3, .cpus = last, .reason = ""});
  std::atomic<int> n_wrong = 0, n_inside = 0;
  const auto look = [&](int slot) {
    ++n_inside;
    while (n_inside < 3) std::this_thread::yield();
    if (slot > 0 && CpuMask::of_this_thread().cpus() != last) ++n_wrong;
  };
  workers.impl().arena.execute([&] {
    oneapi::tbb::task_group group;
    for (int i = 1; i < 3; ++i) group.run([&, i] { look(i); });
    look(0);
    group.wait();
  });
  CHECK(n_wrong == 0);
  CHECK(CpuMask::of_this_thread().cpus() == before);
}

}  // namespace
}  // namespace weft
