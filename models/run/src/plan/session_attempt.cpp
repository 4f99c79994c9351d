// The ladder of concessions of one session. It is the only one: further concessions of a program
// (slots, contexts) are decided in memory_plan.cpp, which calls this.
#include "plan/session_attempt.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/scheduler/routing.h"

#include "model/model_impl.h"
#include "plan/session_plan.h"

namespace weft {
namespace {

using namespace run;

constexpr std::int64_t kMinPrefill = 8;  // the budget never reduces prefill_width below this
// Nor below this to keep weights resident: it would cost more than they gain.
constexpr std::int64_t kMinPrefillResident = 128;
// How much of the budget resident weights must leave free unless they were requested: the program
// itself needs memory, and private pages cannot be evicted.
constexpr std::int64_t kHeadroom = std::int64_t{64} << 20;
// Limits of the concessions below. Each concession gives something up and returns true, or returns
// false if there is nothing left to give up.
struct Limits {
  std::int64_t min_prefill = kMinPrefill;  // lower limit of prefill_width
  bool explicit_budget = true;             // the budget was given, so it must be met
  bool explicit_cache = true;              // the cache types were given, so they must not change
  bool may_read_weights = true;            // in every step
};
using Concession = bool (*)(const Model& model, const Limits& limits, PlannedModel& planned);

// With a default budget, the system can evict rows of tables that are not being read.
bool drop_tables(const Model& model, const Limits& limits, PlannedModel& planned) {
  const bool counted = planned.options.weights != WeightMode::streamed;  // as a whole
  if (limits.explicit_budget || planned.evicted_bytes > 0 || !counted) return false;
  planned.evicted_bytes = layout_weights(model, planned).table_bytes;
  if (planned.evicted_bytes == 0) return false;
  planned.concessions.push_back(fmt::format(
      "tables that a step reads only some rows of, {}: the system may evict and reload them",
      human_bytes(planned.evicted_bytes)));
  return true;
}

void remove_plan(PlannedModel& planned, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  planned.graphs.erase(planned.graphs.begin() + at);
  planned.assignments.erase(planned.assignments.begin() + at);
  planned.plans.erase(planned.plans.begin() + at);
}

bool narrow(const Model& model, const Limits& limits, PlannedModel& planned) {
  const std::int64_t before = planned.memory.total();
  const std::int64_t width = planned.options.prefill_width;
  if (planned.n_step_plans == 1) return false;
  const std::vector<Variable>& variables = planned.graphs[planned.n_step_plans - 2].variables();
  const std::int64_t next = std::ranges::find(variables, "T", &Variable::name)->bound;
  if (next < limits.min_prefill) return false;
  // The encoder's plans are as wide as those of steps; the draft layer has widths of its own.
  const auto [first, last] = planned.plans_of(arch::GraphPart::encoder);
  if (first < last) remove_plan(planned, last - 1);
  remove_plan(planned, --planned.n_step_plans);
  planned.options.prefill_width = next;
  planned.options.logits_rows = std::min(planned.options.logits_rows, next);
  if (planned.options.weights == WeightMode::streamed)
    planned.residency = smallest_residency(find_streamable(model, planned));
  count_memory(model, planned);
  planned.concessions.push_back(fmt::format("prefill width {} -> {}: saves {}", width, next,
                                            human_bytes(before - planned.memory.total())));
  return true;
}

// Halves the cache, unless small heads that are padded to whole blocks take as much, and reverts
// earlier concessions. `options` and `bytes` are those before all concessions.
bool shrink_cache(const Model& model, const Limits& limits, const SessionOptions& options,
                  std::int64_t bytes, PlannedModel& planned) {
  if (limits.explicit_cache || options.cache_k == q8_0) return false;
  SessionOptions smaller = options;
  smaller.cache_k = smaller.cache_v = q8_0;
  PlannedModel with = plan_all(model, smaller, smaller.weights);
  if (with.memory.state >= planned.memory.state) return false;
  with.concessions.push_back(fmt::format("cache {} -> {}: saves {}", options.cache_k.name(),
                                         q8_0.name(), human_bytes(bytes - with.memory.total())));
  with.weights_reason = planned.weights_reason;
  planned = std::move(with);
  return true;
}

// Makes concessions until `needed` of the plans fits; false if it does not even with all of them.
template <class Needed>
bool fit(const Model& model, const Limits& limits, PlannedModel& planned, Needed needed) {
  const SessionOptions options = planned.options;
  const std::int64_t bytes = planned.memory.total();
  const auto fits = [&] { return needed(planned) <= options.mem_budget; };
  const auto concede = [&] {
    for (const Concession concession : {drop_tables, narrow}) {
      while (!fits() && concession(model, limits, planned)) {
      }
    }
    return fits();
  };
  return concede() || (shrink_cache(model, limits, options, bytes, planned) && concede());
}

std::int64_t needed_bytes(const PlannedModel& planned) {
  return planned.memory.total() - planned.evicted_bytes;
}

std::int64_t needed_with_headroom(const PlannedModel& planned) {
  return needed_bytes(planned) + headroom_bytes(planned);
}

// The bytes that cannot be evicted.
std::int64_t unevictable_bytes(const PlannedModel& planned) {
  return planned.memory.total() - planned.memory.weights_mapped + kHeadroom;
}

// Plans with resident weights if they were requested, or if that is faster and fits. Otherwise
// returns nullopt and sets `reason`.
std::optional<SessionAttempt> plan_resident(const Model& model, const SessionOptions& options,
                                            Limits limits, std::string& reason) {
  const bool requested = options.weights == WeightMode::resident;
  if (!requested && routes_of(options).lowering_backend().resident_lowering().empty()) {
    reason = fmt::format("backend {} computes from the file's layout", options.backend);
    return std::nullopt;
  }
  PlannedModel planned = plan_all(model, options, WeightMode::resident);
  if (!limits.explicit_budget) {  // a region shared with another session counts once
    const std::int64_t shared = impl_of(model).region_bytes(layout_weights(model, planned));
    planned.options.mem_budget = default_budget(shared) / impl_of(model).ranks.ranks_here;
  }
  if (requested) {
    const std::string& mix = model.quantized_to();
    planned.weights_reason =
        mix.empty() ? "requested" : fmt::format("those in F32, F16 and BF16 become {}", mix);
    const bool fits = fit(model, limits, planned, needed_bytes);
    return SessionAttempt{std::move(planned), fits};
  }
  if (!layout_weights(model, planned).changes_types) {
    reason = fmt::format("backend {} has no other layout for these weights", options.backend);
    return std::nullopt;
  }
  planned.weights_reason = fmt::format("backend {} is faster from another layout", options.backend);
  limits.min_prefill = kMinPrefillResident;
  limits.explicit_cache = true;  // do not change the cache types only for speed
  if (fit(model, limits, planned, needed_with_headroom))
    return SessionAttempt{std::move(planned), true};
  reason = fmt::format("resident weights would leave less than {} of the budget free",
                       human_bytes(headroom_bytes(planned)));
  return std::nullopt;
}

// Streamed weights fill any budget, so that what the kernel charges beside it would be missing in a
// control group with such a limit, and every read would wait for pages to be reclaimed.
constexpr std::int64_t kPerPageTableByte = 512;
// Pages of the program and of its libraries that a run uses.
constexpr std::int64_t kCodePages = std::int64_t{48} << 20;

// What the limit of the control group, if there is one, has no room for, if the session and
// `program` use the whole budget. Tables that steps read only some rows of end up in the page cache
// as a whole.
std::int64_t beyond_group_limit(const Model& model, const PlannedModel& planned,
                                std::int64_t program) {
  const auto limit = group_memory_limit();
  if (!limit) return 0;
  const std::int64_t budget = planned.options.mem_budget;
  const std::int64_t tables = layout_weights(model, planned).table_bytes;
  const std::int64_t charged = std::max<std::int64_t>(tables - planned.memory.weights_mapped, 0) +
                               kCodePages + budget / kPerPageTableByte + program;
  return budget + charged - *limit / impl_of(model).ranks.ranks_here;
}

// Uses what the smallest residency leaves of the budget.
void grow_residency(const Streamable& weights, const Model& model, std::int64_t budget,
                    PlannedModel& planned) {
  std::int64_t bytes = planned.residency.bytes() + budget - needed_bytes(planned);
  // The region is larger than its weights: they are aligned, and it is whole huge pages.
  for (;;) {
    auto grown = residency_within(weights, bytes);
    planned.residency = grown ? std::move(*grown) : smallest_residency(weights);
    count_memory(model, planned);
    const std::int64_t over = needed_bytes(planned) - budget;
    if (!grown || over <= 0) return;
    bytes -= over;
  }
}

// The plan with packed weights, if that is wanted, faster and possible; otherwise `reason` says why
// weights are streamed as they are in the model's files, unless they are the same.
std::optional<PlannedModel> plan_packed(const Model& model, const SessionOptions& options,
                                        std::string& reason) {
  if (routes_of(options).lowering_backend().resident_lowering().empty()) return std::nullopt;
  if (options.weight_cache.empty()) {
    reason = "in the order of the file; --weight-cache packs them";
    return std::nullopt;
  }
  PlannedModel packed = plan_all(model, options, WeightMode::streamed);
  const PackedFile file = packed_file(model, packed);
  if (!file.is_useful()) return std::nullopt;
  packed.weights_reason = fmt::format("packed in {}", file.path());
  const std::string obstacle = file.obstacle();
  if (obstacle.empty()) return packed;
  reason = fmt::format("in the order of the file: {}", obstacle);
  return std::nullopt;
}

// Keeps as many weights in memory as the budget allows, and reads the others from disk.
SessionAttempt plan_streamed(const Model& model, const SessionOptions& options,
                             const Limits& limits) {
  // A budget that was found is that of the program, too.
  const std::int64_t program = limits.explicit_budget ? 0 : kHeadroom;
  const auto needed = [&](const PlannedModel& p) { return needed_bytes(p) + program; };
  std::string layout;
  auto planned = plan_packed(model, options, layout);
  const bool packs = planned && fit(model, limits, *planned, needed);
  if (!packs) {
    if (planned) layout = "in the order of the file: the budget has no room for packed ones";
    SessionOptions as_in_file = options;
    as_in_file.weight_cache.clear();
    planned = plan_all(model, as_in_file, WeightMode::streamed);
    planned->weights_reason = layout;
  }
  std::string reason = options.weights == WeightMode::streamed
                           ? "requested"
                           : "the budget has no room for all of them";
  if (!planned->weights_reason.empty()) reason += "; " + planned->weights_reason;
  planned->weights_reason = std::move(reason);
  if (!packs && !fit(model, limits, *planned, needed)) return {std::move(*planned), false};
  const std::int64_t reserve = std::max({program, planned->options.mem_budget / kPerPageTableByte,
                                         beyond_group_limit(model, *planned, program)});
  grow_residency(find_streamable(model, *planned), model, planned->options.mem_budget - reserve,
                 *planned);
  return {std::move(*planned), true};
}

SessionAttempt plan_mapped(const Model& model, const SessionOptions& options, const Limits& limits,
                           std::string reason) {
  PlannedModel planned = plan_all(model, options, WeightMode::mapped);
  planned.weights_reason = std::move(reason);
  if (fit(model, limits, planned, needed_bytes)) return {std::move(planned), true};
  if (!limits.may_read_weights) return {std::move(planned), false};
  if (options.weights == WeightMode::automatic) {
    SessionAttempt streamed = plan_streamed(model, options, limits);
    if (streamed.fits || limits.explicit_budget) return streamed;
  }
  // A budget that was given must be met. With a default budget the system evicts pages of the file:
  // slow, but it works.
  if (limits.explicit_budget) return {std::move(planned), false};
  PlannedModel all = plan_all(model, options, WeightMode::mapped);
  all.weights_reason = planned.weights_reason;
  if (!fit(model, limits, all, unevictable_bytes)) return {std::move(planned), false};
  all.evicted_bytes = all.memory.total() - options.mem_budget;
  all.concessions.push_back(
      fmt::format("weights do not fit: of {}, at least {} is read from disk in every step",
                  human_bytes(all.memory.weights_mapped), human_bytes(all.evicted_bytes)));
  return {std::move(all), true};
}

}  // namespace

namespace run {

std::int64_t headroom_bytes(const PlannedModel& planned) {
  return std::min(kHeadroom, planned.memory.weights_resident / 16);
}

bool can_reserve(const PlannedModel& planned, std::int64_t bytes) {
  const WeightMode mode = planned.options.weights;
  if (mode == WeightMode::streamed) return false;
  const bool chosen = mode == WeightMode::resident && planned.weights_reason != "requested";
  const std::int64_t needed = chosen ? needed_with_headroom(planned) : needed_bytes(planned);
  return needed + bytes <= planned.options.mem_budget;
}

SessionAttempt attempt_session(const Model& model, const SessionOptions& options,
                               bool may_read_weights) {
  const SessionOptions resolved = resolve(model, options);
  const Limits limits{.explicit_budget = options.mem_budget != 0,
                      .explicit_cache = options.cache_k.valid() || options.cache_v.valid(),
                      .may_read_weights = may_read_weights};
  std::string reason = "requested";
  if (resolved.weights == WeightMode::streamed) return plan_streamed(model, resolved, limits);
  if (resolved.weights == WeightMode::mapped)
    return plan_mapped(model, resolved, limits, std::move(reason));
  if (auto resident = plan_resident(model, resolved, limits, reason)) return std::move(*resident);
  SessionAttempt mapped = plan_mapped(model, resolved, limits, std::move(reason));
  const SessionOptions& conceded = mapped.planned.options;
  if (!mapped.fits || conceded.cache_k == resolved.cache_k) return mapped;
  // The cache had to shrink anyway, which may leave room for resident weights.
  SessionOptions smaller = resolved;
  smaller.cache_k = conceded.cache_k;
  smaller.cache_v = conceded.cache_v;
  std::string why_not;
  auto resident = plan_resident(model, smaller, limits, why_not);
  if (!resident) return mapped;
  auto& concessions = resident->planned.concessions;
  concessions.insert(concessions.begin(), mapped.planned.concessions.front());
  return std::move(*resident);
}

}  // namespace run
}  // namespace weft
