// Limits of the machine: control groups, workers, sizes and budgets.

#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"

#include "machine/cgroup.h"

namespace weft {
namespace {

cgroup::Files fake(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& path) -> std::optional<std::string> {
    const auto it = files.find(path);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  };
}

TEST_CASE("CPU quota, control groups version 2") {
  const auto quota = [](std::string own, std::string root) {
    return cgroup::cpu_quota(fake({{"/proc/self/cgroup", "0::/a/b\n"},
                                   {"/sys/fs/cgroup/a/b/cpu.max", std::move(own)},
                                   {"/sys/fs/cgroup/cpu.max", std::move(root)}}));
  };
  CHECK(quota("200000 100000\n", "max 100000\n") == 2);
  CHECK(quota("150000 100000\n", "") == 1.5);
  CHECK(quota("100001 100000\n", "") == 1.00001);
  CHECK(quota("1000 100000\n", "") == 0.01);
  CHECK(quota("max 100000\n", "300000 100000\n") == 3);
  CHECK(quota("400000 100000\n", "100000 100000\n") == 1);
  CHECK(quota("max 100000\n", "max 100000\n") == std::nullopt);
  for (const char* broken :
       {"", "x", "1", "100000 0", "-1 100000", "1 2 3", "99999999999999999999 1"}) {
    CHECK(quota(broken, "") == std::nullopt);
  }
}

TEST_CASE("CPU quota, control groups version 1") {
  const auto quota = [](std::string us) {
    return cgroup::cpu_quota(
        fake({{"/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/7f\n"},
              {"/sys/fs/cgroup/cpu/docker/7f/cpu.cfs_quota_us", std::move(us)},
              {"/sys/fs/cgroup/cpu/docker/7f/cpu.cfs_period_us", "100000\n"}}));
  };
  CHECK(quota("250000\n") == 2.5);
  CHECK(quota("-1\n") == std::nullopt);
  CHECK(cgroup::cpu_quota(fake({})) == std::nullopt);
  CHECK(cgroup::cpu_quota(fake({{"/proc/self/cgroup", "nonsense\n::\n0::relative/path"}})) ==
        std::nullopt);
}

TEST_CASE("memory limits") {
  CHECK(cgroup::memory_limit(fake({{"/proc/self/cgroup", "0::/"},
                                   {"/sys/fs/cgroup/memory.max", "6442450944\n"}})) == 6442450944);
  CHECK(cgroup::memory_limit(fake({{"/proc/self/cgroup", "0::/"},
                                   {"/sys/fs/cgroup/memory.max", "max\n"}})) == std::nullopt);
  const auto v1 = [](std::string bytes) {
    return cgroup::memory_limit(
        fake({{"/proc/self/cgroup", "3:memory:/x"},
              {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", std::move(bytes)}}));
  };
  CHECK(v1("1048576") == 1048576);
  CHECK(v1("9223372036854771712") == std::nullopt);
  CHECK(cgroup::memory_available(fake(
            {{"/proc/meminfo", "MemTotal: 8 kB\nMemAvailable:    4096 kB\n"}})) == 4096 * 1024);
  CHECK(cgroup::memory_available(fake({{"/proc/meminfo", "MemAvailable: lots kB\n"}})) ==
        std::nullopt);
}

TEST_CASE("workers") {
  CHECK(default_workers() >= 1);
  CHECK(default_workers() <= 2);
  CHECK(choose_workers().count == default_workers());
  CHECK(choose_workers(7).count == 7);
  CHECK(choose_workers(7).reason.starts_with("7 workers, not the default of "));
  CHECK_THROWS_AS(choose_workers(-1), ValueError);
  CHECK_THROWS_AS(choose_workers(257), ValueError);
  CHECK_THROWS_WITH_AS(Workers(0), "workers must be 1 to 256, got 0", ValueError);
  CHECK_THROWS_AS(Workers(257), ValueError);
  CHECK(Workers(7).count() == 7);
}

TEST_CASE("sizes") {
  constexpr std::int64_t kKi = 1024;
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("6G") == 6 * kKi * kKi * kKi);
  CHECK(parse_size("512MiB") == 512 * kKi * kKi);
  CHECK(parse_size("1.5 gb") == 3 * kKi * kKi * kKi / 2);
  CHECK(parse_size("2t") == 2 * kKi * kKi * kKi * kKi);
  for (const char* bad :
       {"", "G", "-1", "6 X", "6GG", "1e3", "nan", "inf", " 6G", "9999999T", "0x10"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_size(bad), ValueError);
  }
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(6 * kKi * kKi * kKi) == "6.0 GiB");
}

TEST_CASE("memory use adds up") {
  const MemoryUse use{
      .weights_mapped = 3 << 20, .state = 1 << 20, .states = {{"all tokens", 3 << 18}}};
  CHECK(use.total() == 4 << 20);
  CHECK(use.to_text() ==
        "  weights, mapped             3.0 MiB   75.0 %\n"
        "  state: all tokens         768.0 KiB   18.8 %\n"
        "  state                     256.0 KiB    6.2 %\n"
        "  total                       4.0 MiB\n");
  MemoryUse both = use;
  both += {.state = 5, .device = 7, .states = {{"all tokens", 2}, {"recurrent states", 3}}};
  CHECK(both.total() == (4 << 20) + 5);
  CHECK(both.device == 7);
  CHECK(both.states ==
        std::vector<MemoryUse::Named>{{"all tokens", (3 << 18) + 2}, {"recurrent states", 3}});
  CHECK(MemoryUse{.state = std::numeric_limits<std::int64_t>::max(), .arena = 1}.total() ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(default_budget() > 0);
}

}  // namespace
}  // namespace weft
