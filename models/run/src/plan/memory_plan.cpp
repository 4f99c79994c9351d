#include "weft/run/memory_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/attention/cache_cells.h"

#include "plan/draft_plan.h"
#include "plan/session_attempt.h"
#include "plan/session_plan.h"
#include "plan/state_bytes.h"

namespace weft {
namespace {

using namespace run;

// Narrower steps take several times as long for a prompt: fewer slots are better.
constexpr std::int64_t kWideStep = 128;
// Sequences beside the slots. They share blocks with the slots that they were copied from.
constexpr std::int64_t kMaxKept = 1024;
constexpr std::int64_t kMaxShare = 8;

struct Size {
  std::int32_t slots;
  std::int64_t context;
};

// From the one that is wanted to the least.
std::vector<Size> sizes_of(const MemoryDemand& demand) {
  std::vector<Size> sizes{{demand.slots, demand.session.context}};
  const std::int32_t min_slots =
      demand.may_give_up.min_slots > 0 ? demand.may_give_up.min_slots : demand.slots;
  for (;;) {
    Size next = sizes.back();
    if (next.slots > min_slots) {
      next.slots = std::max(next.slots / 2, min_slots);
      if (demand.may_give_up.fixed_total) next.context *= 2;
    } else if (demand.may_give_up.min_context > 0 &&
               next.context > demand.may_give_up.min_context) {
      next.context = std::max(next.context / 2, demand.may_give_up.min_context);
    } else {
      return sizes;
    }
    sizes.push_back(next);
  }
}

// A session's options, and their plan.
struct Tried {
  SessionOptions options;
  SessionAttempt attempt;
};

class MemoryPlanner {
 public:
  MemoryPlanner(const Model& model, const MemoryDemand& demand) : model_(model), demand_(demand) {
    SessionOptions& session = demand_.session;
    budget_ = session.mem_budget;
    session.mem_budget = session_budget(demand);
    if (budget_ > 0) session.reserved += demand.requests;
    if (session.context == 0) session.context = default_context(model);
    sizes_ = sizes_of(demand_);
  }

  // Fewer slots are better than weights that are read from disk in every step.
  MemoryOffer plan() {
    std::optional<Tried> tried;
    const std::int64_t given = demand_.session.mem_budget;
    const bool too_large = model_.facts().weight_bytes > (given > 0 ? given : default_budget());
    for (const bool may_read_weights : {false, true}) {
      may_read_weights_ = may_read_weights;
      if (!may_read_weights && (too_large || sizes_.size() == 1)) continue;
      tried.reset();
      least_.reset();
      if (auto offer = try_sizes(tried)) return std::move(*offer);
    }
    refuse_session(model_, least_ ? *least_ : tried->attempt.planned,
                   [this](std::int64_t bytes) { return budget_for(bytes); });
  }

 private:
  std::optional<MemoryOffer> try_sizes(std::optional<Tried>& tried) {
    for (std::size_t i = first_size(tried); i < sizes_.size(); ++i) {
      if (!tried || sizes_[i].slots != tried->options.sequences ||
          sizes_[i].context != tried->options.context)
        tried = try_size(sizes_[i]);
      if (!tried->attempt.fits) continue;
      if (auto offer = complete(sizes_[i], std::move(*tried))) return describe(std::move(*offer));
    }
    return std::nullopt;
  }

  // The smallest budget of the program that leaves this many bytes to the session.
  std::int64_t budget_for(std::int64_t bytes) const {
    if (budget_ == 0) return bytes;
    return bytes + demand_.used;
  }

  Tried try_options(SessionOptions options) const {
    SessionAttempt attempt = attempt_session(model_, options, may_read_weights_);
    return {std::move(options), std::move(attempt)};
  }

  Tried try_size(const Size& size) const {
    SessionOptions options = demand_.session;
    options.sequences = size.slots;
    options.context = size.context;
    return try_options(std::move(options));
  }

  // Whether the weights and the cells alone are more than the budget, judged by a plan of another
  // size that gave up everything and still did not fit.
  bool is_hopeless(const Size& size) const {
    if (!least_ || demand_.session.mem_budget == 0) return false;
    const MemoryUse& use = least_->memory;
    const std::int64_t cells = demand_.session.cells;
    const std::int64_t blocks =
        cells > 0 ? blocks_for(cells) : size.slots * blocks_for(size.context);
    return use.weights_mapped + use.weights_resident + state_bytes(*least_).block * blocks >
           demand_.session.mem_budget;
  }

  // The first size with wide steps, else the first that fits, else one past the last; with its
  // plan.
  std::size_t first_size(std::optional<Tried>& tried) {
    const std::int64_t wide = std::min(demand_.session.prefill_width, kWideStep);
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool last = i + 1 == sizes_.size();
      if (!last && is_hopeless(sizes_[i])) continue;
      Tried next = try_size(sizes_[i]);
      if (!next.attempt.fits) {
        least_ = std::move(next.attempt.planned);
        continue;
      }
      const bool is_wide = next.attempt.planned.options.prefill_width >= wide;
      if (!first || is_wide) first = i, tried = std::move(next);
      if (is_wide) break;
    }
    return first.value_or(sizes_.size());
  }

  // With shared cells and kept prompts; nullopt if they do not fit.
  std::optional<MemoryOffer> complete(const Size& size, Tried&& tried) {
    if (auto shared = share_cells(size, tried)) {
      const std::int64_t cells = shared->options.cells;
      if (auto offer = keep_prompts(size, std::move(*shared))) {
        offer->concessions.push_back(
            fmt::format("{} cells, which all slots share, make room for resident weights", cells));
        return offer;
      }
    }
    return keep_prompts(size, std::move(tried));
  }

  std::optional<Tried> share_cells(const Size& size, const Tried& tried) const {
    const PlannedModel& planned = tried.attempt.planned;
    const bool explicit_kept = demand_.kept_bytes > 0;  // their cells are not planned here
    if (!demand_.may_give_up.share_cells || size.slots == 1 || demand_.session.cells > 0 ||
        explicit_kept)
      return std::nullopt;
    if (demand_.session.weights != WeightMode::automatic) return std::nullopt;
    if (planned.options.weights == WeightMode::resident) return std::nullopt;
    SessionOptions options = tried.options;
    options.cache_k = planned.options.cache_k;
    options.cache_v = planned.options.cache_v;
    const std::int64_t all = size.slots * size.context;
    for (const std::int64_t cells : {all * 3 / 4, all / 2}) {
      options.cells = cells;
      Tried shared = try_options(options);
      if (!shared.attempt.fits) continue;
      PlannedModel& with = shared.attempt.planned;
      if (with.options.weights != WeightMode::resident) continue;
      // The type of the cache was given up in the plan before, which says it first.
      const DType asked = tried.options.cache_k;
      if (!asked.valid() && !planned.concessions.empty() && planned.options.cache_k != f16)
        with.concessions.insert(with.concessions.begin(), planned.concessions.front());
      return shared;
    }
    return std::nullopt;
  }

  // Leaves `tried` as it is if it returns nullopt.
  std::optional<MemoryOffer> keep_prompts(const Size& size, Tried&& tried) {
    const auto bare = [&] {
      return MemoryOffer{.planned = std::move(tried.attempt.planned), .slots = size.slots};
    };
    if (auto with_marks = keep_marks(size, tried)) return with_marks;
    SessionOptions options = tried.options;
    const std::int32_t n_kept = add_kept(tried.attempt.planned, options);
    if (n_kept == 0) return bare();
    Tried with = try_options(std::move(options));
    if (with.attempt.fits)
      return MemoryOffer{
          .planned = std::move(with.attempt.planned), .slots = size.slots, .n_kept = n_kept};
    if (demand_.kept_bytes < 0) return bare();
    least_ = std::move(with.attempt.planned);
    return std::nullopt;
  }

  // Nullopt if none are wanted, or something has to give way.
  std::optional<MemoryOffer> keep_marks(const Size& size, const Tried& tried) const {
    if (demand_.marked_states == 0 || !model_.facts().recurrent) return std::nullopt;
    SessionOptions options = tried.options;
    options.kept = demand_.marked_states;
    options.checkpoint_every = std::int64_t{1} << 30;  // none but the marked ones
    Tried with = try_options(std::move(options));
    const PlannedModel &planned = with.attempt.planned, &before = tried.attempt.planned;
    if (!with.attempt.fits || planned.concessions != before.concessions ||
        planned.options.weights != before.options.weights)
      return std::nullopt;
    return MemoryOffer{.planned = std::move(with.attempt.planned),
                       .slots = size.slots,
                       .n_kept = demand_.marked_states};
  }

  // By default a quarter of the free bytes, and at most kMaxShare times those of the slots; leaves
  // the same reserve that a session leaves beside resident weights.
  std::int64_t kept_bytes(const PlannedModel& planned) const {
    if (demand_.kept_bytes >= 0) return demand_.kept_bytes;
    if (!planned.concessions.empty()) return 0;
    const std::int64_t free = planned.options.mem_budget - planned.memory.total();
    return std::clamp<std::int64_t>((free - headroom_bytes(planned)) / 4, 0,
                                    kMaxShare * planned.memory.state);
  }

  // Adds the sequences of kept prompts and the room for their tokens: at most a quarter of the
  // bytes for what each sequence costs, the rest for tokens. Returns their number.
  std::int32_t add_kept(const PlannedModel& planned, SessionOptions& options) const {
    const std::int64_t all = kept_bytes(planned);
    const StateBytes bytes = state_bytes(planned);
    if (bytes.kept_block == 0) return 0;
    const std::int64_t most = bytes.kept_sequence == 0 ? kMaxKept : all / 4 / bytes.kept_sequence;
    std::int64_t n = std::min(kMaxKept, most);
    const std::int64_t per_context = blocks_for(planned.options.context);
    const std::int64_t blocks =
        std::min((all - n * bytes.kept_sequence) / bytes.kept_block, n * per_context);
    n = std::min(n, blocks);
    if (n == 0) return 0;
    options.kept = static_cast<std::int32_t>(n);
    options.kept_tokens = kCellsPerBlock * blocks;
    return options.kept;
  }

  MemoryOffer describe(MemoryOffer offer) const {
    const SessionOptions& o = offer.planned.options;
    if (offer.slots != demand_.slots || o.context != demand_.session.context)
      offer.concessions.insert(offer.concessions.begin(),
                               fmt::format("{} slots of {} tokens -> {} of {}", demand_.slots,
                                           demand_.session.context, offer.slots, o.context));
    const auto& more = offer.planned.concessions;
    offer.concessions.insert(offer.concessions.end(), more.begin(), more.end());
    return offer;
  }

  const Model& model_;
  MemoryDemand demand_;      // its budget is the session's
  std::int64_t budget_ = 0;  // the program's
  std::vector<Size> sizes_;
  std::optional<PlannedModel> least_;  // the last that did not fit
  bool may_read_weights_ = true;
};

}  // namespace

std::int64_t session_budget(const MemoryDemand& demand) {
  const std::int64_t all = demand.session.mem_budget;
  if (all == 0) return 0;
  if (demand.used >= all)
    fail<BudgetError>("other models use {} of the memory budget of {}", human_bytes(demand.used),
                      human_bytes(all));
  return all - demand.used;
}

namespace {

// Reserves `wanted` bytes for drafts. False if something more would have to be conceded for them,
// fewer or shorter slots included.
bool reserve(const Model& model, const MemoryDemand& demand, std::int64_t wanted,
             MemoryOffer& offer) {
  if (can_reserve(offer.planned, wanted)) {
    offer.planned.options.reserved += wanted;
    offer.planned.memory.other += wanted;
    return true;
  }
  if (offer.planned.options.weights != WeightMode::streamed) return false;
  MemoryDemand more = demand;  // less is in memory, and more is read from disk
  more.session.reserved += wanted;
  more.drafts = {};
  auto beside = plan_if_fits(model, more);
  if (!beside || beside->concessions != offer.concessions ||
      beside->planned.options.weights != offer.planned.options.weights)
    return false;
  offer = *std::move(beside);
  return true;
}

}  // namespace

MemoryOffer plan_memory(const Model& model, const MemoryDemand& demand) {
  MemoryOffer offer = MemoryPlanner(model, demand).plan();
  if (demand.session.mem_budget > 0) offer.requests = demand.requests;
  if (demand.drafts.max_guesses == 0) return offer;
  DraftDemand drafts = demand.drafts;
  if (drafts.texts == 0) drafts.texts = offer.slots;
  std::optional<PlannedModel> alone;
  std::int64_t reserved = wanted_by_drafts(model, offer.planned.options, drafts, alone);
  if (!reserve(model, demand, reserved, offer)) reserved = 0;
  offer.drafts = run::plan_drafts(model, offer.planned.options, offer.planned.memory, drafts,
                                  reserved, std::move(alone));
  return offer;
}

std::optional<MemoryOffer> plan_if_fits(const Model& model, const MemoryDemand& demand) {
  try {
    return plan_memory(model, demand);
  } catch (const BudgetError&) {
    return std::nullopt;
  }
}

std::optional<PlannedModel> plan_if_fits(const Model& model, const SessionOptions& options) {
  SessionAttempt attempt = attempt_session(model, options);
  if (!attempt.fits) return std::nullopt;
  return std::move(attempt.planned);
}

bool fits_budget(const Model& model, const SessionOptions& options) {
  return plan_if_fits(model, options).has_value();
}

PlannedModel plan_model(const Model& model, const SessionOptions& options) {
  SessionAttempt attempt = attempt_session(model, options);
  if (!attempt.fits)
    refuse_session(model, attempt.planned, [](std::int64_t bytes) { return bytes; });
  return std::move(attempt.planned);
}

PlannedModel plan_to_look_at(const Model& model, SessionOptions options) {
  if (options.mem_budget == 0 && !fits_budget(model, options))
    options.mem_budget = std::numeric_limits<std::int64_t>::max();
  return plan_model(model, options);
}

}  // namespace weft
