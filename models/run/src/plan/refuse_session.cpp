// The refusal of a demand, with the most that would be met.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/attention/cache_cells.h"

#include "model/model_impl.h"
#include "plan/session_attempt.h"
#include "plan/state_bytes.h"

namespace weft::run {
namespace {

// One sequence with this context, in steps that may become narrow.
SessionAttempt attempt_small(const Model& model, SessionOptions o, std::int64_t context) {
  o.sequences = 1;
  o.context = context;
  o.cells = 0;
  return attempt_session(model, o);
}

// The longest context of one sequence that fits, as a whole number of blocks.
std::int64_t longest_context(const Model& model, const SessionOptions& o,
                             const PlannedModel& smallest) {
  const std::int64_t block = std::max<std::int64_t>(1, state_bytes(smallest).block);
  const std::int64_t free = o.mem_budget - smallest.memory.total();
  std::int64_t context = std::min(kCellsPerBlock * (1 + free / block), o.context);
  while (context > kCellsPerBlock && !attempt_small(model, o, context).fits)
    context = round_up_to_blocks(context / 2);
  return context;
}

// Rounded up, so that it is enough.
std::string bytes_rounded_up(std::int64_t bytes) {
  std::int64_t shown = bytes;
  while (parse_size(human_bytes(shown)) < bytes) shown += bytes / 512 + 1;
  return human_bytes(shown);
}

}  // namespace

void refuse_session(const Model& model, const PlannedModel& planned, const BudgetOf& budget_of) {
  const SessionOptions& o = planned.options;
  std::string text =
      fmt::format("{}: needs {} with a context of {} x {}, may use {}", model.file().path(),
                  human_bytes(budget_of(planned.memory.total())), o.sequences, o.context,
                  human_bytes(budget_of(o.mem_budget)));
  const SessionAttempt least = attempt_small(model, o, std::min(o.context, kCellsPerBlock));
  if (least.fits)
    text += fmt::format("; a context of 1 x {} fits", longest_context(model, o, least.planned));
  else
    text += fmt::format("; the least that it needs is {}, with a context of 1 x {}",
                        bytes_rounded_up(budget_of(least.planned.memory.total())),
                        least.planned.options.context);
  fail<BudgetError>("{}\n{}", text, planned.memory.to_text());
}

}  // namespace weft::run
