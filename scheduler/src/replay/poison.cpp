#include "replay/poison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/base/error.h"

namespace weft::scheduler {
namespace {

constexpr std::byte kPoison{0xff};

bool holds_nan(const View& view, const Region& region) {
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    const float* row = view.row<const float>(r);
    if (std::any_of(row + region.col0, row + region.col1, [](float x) { return std::isnan(x); }))
      return true;
  }
  return false;
}

}  // namespace

bool poison_wanted() {
  const char* value = std::getenv("WEFT_POISON");
  return value && *value && std::string_view(value) != "0";
}

Poison::Poison(const Graph& graph, const Plan& plan, std::span<std::byte> arena)
    : graph_(graph),
      plan_(plan),
      arena_(arena.first(static_cast<std::size_t>(plan.arena_bytes))),
      fresh_(static_cast<std::size_t>(plan.stages)),
      free_(fresh_.size()) {
  std::vector<std::vector<Range>> taken(free_.size()), old(free_.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Placement& p = plan.placements[id];
    if (p.place != Place::arena || is_device(p.memory)) continue;
    const Range range{p.offset, p.offset + p.copies * align_up(p.bytes)};
    const bool is_input = graph[id].kind == NodeKind::input;
    for (std::int32_t s = p.first_stage; s <= p.last_stage; ++s) {
      taken[static_cast<std::size_t>(s)].push_back(range);
      if (is_input || s > p.first_stage) old[static_cast<std::size_t>(s)].push_back(range);
    }
  }
  for (std::size_t s = 0; s < free_.size(); ++s) {
    fresh_[s] = free_between(std::move(old[s]));
    free_[s] = free_between(std::move(taken[s]));
  }
}

std::vector<Poison::Range> Poison::free_between(std::vector<Range> taken) const {
  std::ranges::sort(taken, {}, &Range::begin);
  std::vector<Range> free;
  std::int64_t end = 0;
  for (const Range& range : taken) {
    if (range.begin > end) free.push_back({end, range.begin});
    end = std::max(end, range.end);
  }
  if (end < std::ssize(arena_)) free.push_back({end, std::ssize(arena_)});
  return free;
}

void Poison::fill(const std::vector<Range>& ranges) {
  for (const Range& range : ranges) {
    std::memset(arena_.data() + range.begin, std::to_integer<int>(kPoison),
                static_cast<std::size_t>(range.end - range.begin));
  }
}

void Poison::begin() {
  finding_.clear();
  if (!fresh_.empty()) fill(fresh_.front());
}

void Poison::end_stage(std::int32_t stage) {
  look_at(stage);
  if (stage + 1 < std::ssize(fresh_)) fill(fresh_[static_cast<std::size_t>(stage) + 1]);
}

void Poison::look_at(std::int32_t stage) {
  if (!finding_.empty()) return;
  for (const Range& range : free_[static_cast<std::size_t>(stage)]) {
    const auto bytes = arena_.subspan(static_cast<std::size_t>(range.begin),
                                      static_cast<std::size_t>(range.end - range.begin));
    const auto found =
        std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != kPoison; });
    if (found == bytes.end()) continue;
    std::string nodes;
    for (const PlanStep& step : plan_.steps) {
      if (step.stage == stage) nodes += fmt::format("{}'{}'", nodes.empty() ? "" : ", ", step.path);
    }
    finding_ = fmt::format(
        "a kernel of stage {} ({}) wrote to byte {:#x} of the arena, which is not in use", stage,
        nodes, range.begin + (found - bytes.begin()));
    return;
  }
}

void Poison::before_call(const KernelArgs& args) {
  if (!args.scratch.empty())
    std::memset(args.scratch.data(), std::to_integer<int>(kPoison), args.scratch.size());
}

void Poison::after_call(const PlanStep& step, const KernelArgs& args, const Region& region) {
  if (!finding_.empty() || args.op->storage != Storage::fresh || args.out.dtype != f32) return;
  if (!holds_nan(args.out, region)) return;
  finding_ = fmt::format(
      "'{}' ({}, stage {}, built at {}) gave NaN: it read unused memory, or its inputs are not "
      "finite",
      step.path, step.kernel, step.stage, to_string(graph_[step.node].where));
}

}  // namespace weft::scheduler
