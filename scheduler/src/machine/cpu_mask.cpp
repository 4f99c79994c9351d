#include "machine/cpu_mask.h"

#include <charconv>

#include <fmt/format.h>

#include "weft/base/text.h"

namespace weft::scheduler {
namespace {

constexpr int kMaxCpus = 8192;  // the most that Linux can be configured for

// Takes an id from the start of a text.
std::optional<int> take_id(std::string_view& text) {
  int id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || id < 0 || id >= kMaxCpus) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return id;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  text = trim(text);
  while (!text.empty()) {
    const std::optional<int> first = take_id(text);
    std::optional<int> last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_id(text);
    }
    if (!first || !last || *first > *last || (!cpus.empty() && *first <= cpus.back()))
      return std::nullopt;
    for (int id = *first; id <= *last; ++id) cpus.push_back(id);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return cpus;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (auto first = cpus.begin(); first != cpus.end();) {
    auto last = first;
    while (last + 1 != cpus.end() && *(last + 1) == *last + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", *first);
    if (last != first) text += fmt::format("{}{}", last == first + 1 ? ',' : '-', *last);
    first = last + 1;
  }
  return text;
}

CpuMask::CpuMask(std::span<const int> cpus) {
  static_assert(sizeof(sets_) * 8 == kMaxCpus);
  CPU_ZERO_S(sizeof(sets_), sets_.data());
  for (const int id : cpus) {
    if (id >= 0 && id < kMaxCpus)
      CPU_SET_S(static_cast<std::size_t>(id), sizeof(sets_), sets_.data());
  }
}

CpuMask CpuMask::of_this_thread() {
  CpuMask mask({});
  if (sched_getaffinity(0, sizeof(mask.sets_), mask.sets_.data()) != 0) return CpuMask({});
  return mask;
}

bool CpuMask::apply() const {
  return sched_setaffinity(0, sizeof(sets_), sets_.data()) == 0;
}

std::vector<int> CpuMask::cpus() const {
  std::vector<int> cpus;
  for (int id = 0; id < kMaxCpus; ++id) {
    if (CPU_ISSET_S(static_cast<std::size_t>(id), sizeof(sets_), sets_.data())) cpus.push_back(id);
  }
  return cpus;
}

}  // namespace weft::scheduler
