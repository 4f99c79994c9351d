#include "weft/scheduler/budget.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/text.h"

#include "machine/cgroup.h"

namespace weft {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  int shift;
};
constexpr Unit kUnits[] = {{"", 0},     {"B", 0},   {"K", 10},   {"KB", 10}, {"KiB", 10},
                           {"M", 20},   {"MB", 20}, {"MiB", 20}, {"G", 30},  {"GB", 30},
                           {"GiB", 30}, {"T", 40},  {"TB", 40},  {"TiB", 40}};

}  // namespace

std::int64_t parse_size(std::string_view text) {
  const auto bad = [&]() {
    fail<ValueError>(
        "'{}' is not a size: write bytes, or a number with K, M, G or T (\"512MiB\", \"6G\")",
        text);
  };
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) bad();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const auto* known = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& u) {
    return equals_ignoring_case(u.name, unit);
  });
  if (known == std::end(kUnits)) bad();
  const double bytes = std::ldexp(value, known->shift);
  if (bytes > 0x1p62) bad();
  return static_cast<std::int64_t>(bytes);
}

std::int64_t default_budget(std::int64_t held) {
  const std::int64_t limit = cgroup::memory_limit(cgroup::system_files).value_or(kUnlimited);
  const auto available = cgroup::memory_available(cgroup::system_files);
  return std::min(limit, available ? *available + held : kUnlimited);
}

std::optional<std::int64_t> group_memory_limit() {
  return cgroup::memory_limit(cgroup::system_files);
}

// The bindings name all members: a new one does not compile until it is added here.
MemoryUse& MemoryUse::operator+=(const MemoryUse& more) {
  auto& [a_mapped, a_resident, a_streamed, a_state, a_arena, a_scratch, a_program, a_other,
         a_device, a_states] = *this;
  const auto& [b_mapped, b_resident, b_streamed, b_state, b_arena, b_scratch, b_program, b_other,
               b_device, b_states] = more;
  a_mapped += b_mapped, a_resident += b_resident, a_streamed += b_streamed, a_state += b_state;
  a_arena += b_arena, a_scratch += b_scratch, a_program += b_program, a_other += b_other,
      a_device += b_device;
  for (const Named& kind : b_states) {
    const auto known = std::ranges::find(a_states, kind.name, &Named::name);
    if (known == a_states.end())
      a_states.push_back(kind);
    else
      known->bytes += kind.bytes;
  }
  return *this;
}

std::int64_t MemoryUse::total() const {
  std::int64_t sum = 0;
  for (const std::int64_t n : {weights_mapped, weights_resident, weights_streamed, state, arena,
                               scratch, program, other}) {
    if (__builtin_add_overflow(sum, n, &sum)) return kUnlimited;
  }
  return sum;
}

std::vector<MemoryUse::Named> MemoryUse::lines() const {
  std::vector<Named> lines;
  const auto add = [&](std::string name, std::int64_t bytes) {
    if (bytes > 0) lines.push_back({std::move(name), bytes});
  };
  add("weights, mapped", weights_mapped);
  add("weights, resident", weights_resident);
  add("weights, streamed", weights_streamed);
  std::int64_t rest = state;
  for (const Named& kind : states) {
    add("state: " + kind.name, kind.bytes);
    rest -= kind.bytes;
  }
  add("state", rest);
  add("arena", arena);
  add("scratch", scratch);
  add("program", program);
  add("other", other);
  return lines;
}

std::string MemoryUse::to_text() const {
  const std::int64_t all = total();
  std::string text;
  for (const Named& line : lines())
    text += fmt::format("  {:<23} {:>11}  {:>5.1f} %\n", line.name, human_bytes(line.bytes),
                        100.0 * static_cast<double>(line.bytes) / static_cast<double>(all));
  text += fmt::format("  {:<23} {:>11}\n", "total", human_bytes(all));
  if (device > 0) text += fmt::format("  {:<23} {:>11}\n", "on devices", human_bytes(device));
  return text;
}

}  // namespace weft
