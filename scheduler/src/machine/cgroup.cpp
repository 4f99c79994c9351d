#include "machine/cgroup.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "weft/base/read_file.h"
#include "weft/base/text.h"

namespace weft::cgroup {
namespace {

std::optional<std::int64_t> number(std::string_view s) {
  s = trim(s);
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return n;
}

std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = s.find(at);
    parts.push_back(s.substr(0, end));
    if (end == std::string_view::npos) return parts;
    s.remove_prefix(end + 1);
  }
}

template <class Number>
void keep_min(std::optional<Number>& min, std::optional<Number> n) {
  if (n && *n > 0 && (!min || *n < *min)) min = n;
}

std::optional<double> cpus(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// cpu.max: "max 100000" or "150000 100000", quota and period in microseconds.
std::optional<double> cpus_v2(const std::string& text) {
  const auto parts = split(trim(text), ' ');
  return parts.size() == 2 ? cpus(number(parts[0]), number(parts[1])) : std::nullopt;
}

}  // namespace

std::optional<std::string> system_files(const std::string& path) {
  return try_read_file(path);
}

std::vector<std::string> folders(const Files& files, std::string_view controller) {
  const auto text = files("/proc/self/cgroup");
  if (!text) return {};
  const std::string mount =
      controller.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + std::string(controller);
  for (const std::string_view line : split(*text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const auto names = split(parts[1], ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    std::string path(trim(line.substr(parts[0].size() + parts[1].size() + 2)));
    std::vector<std::string> out;
    while (path.size() > 1 && path.front() == '/') {
      out.push_back(mount + path);
      path.resize(path.rfind('/'));
    }
    out.push_back(mount);
    return out;
  }
  return {};
}

std::optional<std::int64_t> number_in(const Files& files, const std::string& path) {
  const auto text = files(path);
  return text ? number(*text) : std::nullopt;
}

std::optional<double> cpu_quota(const Files& files) {
  std::optional<double> min;
  for (const std::string& folder : folders(files, "")) {
    if (const auto text = files(folder + "/cpu.max")) keep_min(min, cpus_v2(*text));
  }
  for (const std::string& folder : folders(files, "cpu")) {
    keep_min(min, cpus(number_in(files, folder + "/cpu.cfs_quota_us"),
                       number_in(files, folder + "/cpu.cfs_period_us")));
  }
  return min;
}

std::optional<std::int64_t> memory_limit(const Files& files) {
  std::optional<std::int64_t> min;
  for (const std::string& folder : folders(files, ""))
    keep_min(min, number_in(files, folder + "/memory.max"));
  for (const std::string& folder : folders(files, "memory")) {
    keep_min(min, number_in(files, folder + "/memory.limit_in_bytes"));
  }
  // Version 1 writes "no limit" as the largest multiple of a page below 2^63.
  if (min && *min >= (std::int64_t{1} << 62)) return std::nullopt;
  return min;
}

std::optional<std::int64_t> memory_available(const Files& files) {
  const auto text = files("/proc/meminfo");
  if (!text) return std::nullopt;
  constexpr std::string_view kKey = "MemAvailable:";
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with(kKey) || !line.ends_with(" kB")) continue;
    const auto kib = number(line.substr(kKey.size(), line.size() - kKey.size() - 3));
    if (kib && *kib >= 0 && *kib < (std::int64_t{1} << 52)) return *kib * 1024;
  }
  return std::nullopt;
}

}  // namespace weft::cgroup
