#include "machine/memory_room.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "weft/base/text.h"

namespace weft {
namespace {

using cgroup::Files;

// The number behind a key at the beginning of a line: "inactive_file 4096", "MemFree:  12 kB".
std::int64_t number_of(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    std::string_view rest = text.substr(at + key.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != ':')) continue;
    rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
    std::int64_t n = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), n);
    return std::clamp<std::int64_t>(n, 0, std::int64_t{1} << 60);
  }
  return 0;
}

// "some avg10=1.25 avg60=..", in percent.
double stalled_in(const Files& files, const std::string& path) {
  const auto text = files(path);
  if (!text) return 0;
  constexpr std::string_view kKey = "some avg10=";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return 0;
  double percent = 0;
  const char* const begin = text->data() + at + kKey.size();
  std::from_chars(begin, text->data() + text->size(), percent);
  return std::clamp(percent / 100, 0.0, 1.0);
}

// Names of a version's files.
struct Version {
  std::string_view controller, used, inactive, active;
  struct Limit {
    std::string_view file;
    std::string_view name;
  } limits[2];
};
constexpr Version kVersions[] = {
    {"",
     "memory.current",
     "inactive_file",
     "active_file",
     {{"memory.max", "memory.max of the control group"},
      {"memory.high", "memory.high of the control group"}}},
    {"memory",
     "memory.usage_in_bytes",
     "total_inactive_file",
     "total_active_file",
     {{"memory.limit_in_bytes", "memory.limit_in_bytes of the control group"}, {}}},
};

void keep_least(MemoryRoom& least, std::int64_t bytes, std::int64_t limit, std::string_view name) {
  if (bytes >= least.bytes) return;
  least.bytes = bytes;
  least.limit = limit;
  least.name = name;
}

// Considers one group. Limits of 2^62 and more are none.
void add_group(MemoryRoom& room, const Files& files, const std::string& folder,
               const Version& version, std::int64_t needed_cache) {
  const auto path = [&](std::string_view file) { return folder + "/" + std::string(file); };
  const auto used = cgroup::number_in(files, path(version.used));
  if (!used || *used < 0) return;
  for (const auto& [file, name] : version.limits) {
    const auto limit = file.empty() ? std::nullopt : cgroup::number_in(files, path(file));
    if (!limit || *limit < 0 || *limit >= (std::int64_t{1} << 62)) continue;
    const std::string stat = files(path("memory.stat")).value_or("");
    const std::int64_t inactive = number_of(stat, version.inactive);
    const std::int64_t needed =
        std::max<std::int64_t>(0, needed_cache - number_of(stat, version.active));
    const std::int64_t droppable = std::max<std::int64_t>(0, inactive - needed);
    keep_least(room, *limit - *used + std::min(droppable, *used), *limit, name);
  }
}

}  // namespace

MemoryRoom cgroup::memory_room(const Files& files, std::int64_t needed_cache) {
  MemoryRoom room;
  bool tells = false;  // the group, about its own stalls
  for (const Version& version : kVersions) {
    const auto folders = cgroup::folders(files, version.controller);
    for (const std::string& folder : folders) add_group(room, files, folder, version, needed_cache);
    if (!version.controller.empty() || folders.empty()) continue;
    const std::string pressure = folders.front() + "/memory.pressure";
    tells = files(pressure).has_value();
    room.stalled = stalled_in(files, pressure);
  }
  if (!tells) room.stalled = stalled_in(files, "/proc/pressure/memory");
  if (const auto available = cgroup::memory_available(files)) {
    const std::int64_t all = 1024 * number_of(files("/proc/meminfo").value_or(""), "MemTotal");
    const std::int64_t cached = 1024 * number_of(files("/proc/meminfo").value_or(""), "Cached");
    keep_least(room, *available - std::min(cached, needed_cache), all, "the machine's memory");
  }
  return room;
}

std::int64_t anonymous_bytes() {
  return 1024 * number_of(cgroup::system_files("/proc/self/status").value_or(""), "RssAnon");
}

MemoryRoom memory_room(std::int64_t needed_cache) {
  return cgroup::memory_room(cgroup::system_files, needed_cache);
}

}  // namespace weft
