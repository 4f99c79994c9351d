#include "reports/plan_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "weft/backends/tunables.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/run/plan_json.h"
#include "weft/scheduler/timeline.h"

#include "reports/residency_report.h"

namespace weft::tools {
namespace {

// Lower bounds of a plan's time, estimated or measured.
struct Bounds {
  PlanBounds bounds;
  bool measured = false;
};

Bounds bounds_of(const Graph& graph, const Plan& plan, const ProfiledPlan* profile) {
  if (!profile) return {.bounds = estimate_bounds(graph, plan)};
  PlanBounds bounds{.ns = profile->wall_ns};
  std::vector<double> longest;
  for (const PlanStep& step : plan.steps) {
    const ProfiledNode* node = profile->find(step.path);
    const double ns = node ? node->ns : 0;
    longest.push_back(step.split == Split::one ? ns : ns / plan.lanes);
    bounds.lane_ns += ns / plan.lanes;
  }
  bounds.critical_ns = critical_path_ns(graph, plan, longest);
  return {.bounds = bounds, .measured = true};
}

// Describes the work before the first token.
std::string start_text(const MemoryUse& use) {
  const std::int64_t own = use.weights_resident + use.weights_streamed;
  if (own == 0)
    return fmt::format("start: {} are used directly from the file\n",
                       human_bytes(use.weights_mapped));
  return fmt::format(
      "start: {} of new memory for weights, slow if a virtual machine must get it from its host\n",
      human_bytes(own));
}

std::string tuned_text(const PlannedModel& planned) {
  const std::vector<Tunable> tunables = tunables_of(planned);
  if (tunables.empty()) return "";
  std::string out;
  for (const Tunable& tunable : tunables) {
    const TunedValue* const tuned = cpu_backend_values().find(tunable.name);
    if (tuned && tuned->value != tunable.standard)
      out += fmt::format("  {}: {} ({:.2f} times the standard)\n", tunable.about, tuned->value,
                         tuned->gain);
  }
  if (!out.empty()) return "tuned for this machine:\n" + out;
  return cpu_backend_values().all().empty() ? "not tuned for this machine (weft tune)\n"
                                            : "tuned for this machine: the standard values\n";
}

std::string requests_text(const MemoryOffer& offer) {
  if (offer.requests == 0) return "";
  const std::int64_t rest = offer.planned.options.mem_budget - offer.memory().total();
  return fmt::format(
      "requests may take {} of what is other, and {} that the budget leaves: for bodies, texts, "
      "grammars, snapshots and embedders\n",
      human_bytes(offer.requests), human_bytes(std::max<std::int64_t>(0, rest)));
}

std::string drafts_text(const DraftOffer& drafts) {
  std::string out;
  if (drafts.guess_bytes > 0)
    out += fmt::format("drafts: {} for the logits of guesses{}\n", human_bytes(drafts.guess_bytes),
                       drafts.session
                           ? fmt::format(", {} for the session of their model",
                                         human_bytes(drafts.memory().total() - drafts.guess_bytes))
                           : "");
  for (const std::string& line : drafts.left_out) out += line + '\n';
  return out;
}

}  // namespace

std::string bounds_text(const Graph& graph, const Plan& plan, const ProfiledPlan* profile) {
  const auto [b, measured] = bounds_of(graph, plan, profile);
  const PeakStage peak = peak_stage(plan);
  const auto tokens = std::ranges::find(plan.variables, "T", &Variable::name);
  const double per_token =
      tokens == plan.variables.end() ? 0 : plan.joins() / static_cast<double>(tokens->bound);
  const auto share = [&](double ns) { return b.ns > 0 ? 100 * ns / b.ns : 0; };
  return fmt::format(
      "arena {}, {} live at the peak (stage {}); {} joins per token\n"
      "critical path {}, work of a lane {}, {} {}: the critical path is {:.1f} % of it, lanes are "
      "busy {:.1f} % of it\n",
      human_bytes(plan.arena_bytes), human_bytes(peak.bytes), peak.stage, three_digits(per_token),
      human_ns(b.critical_ns), human_ns(b.lane_ns), measured ? "measured" : "estimated",
      human_ns(b.ns), share(b.critical_ns), share(b.lane_ns));
}

std::string plan_head(const Model& model, const MemoryOffer& offer) {
  const ModelFacts& facts = model.facts();
  const PlannedModel& planned = offer.planned;
  const SessionOptions& o = planned.options;
  const std::int64_t most_cells = round_up_to_blocks(o.context) * o.sequences;
  std::string out = fmt::format(
      "{}: {}, {} layers, {} parameters\n"
      "context {} x {} sequences{}, backend {}, cache {}{}\n{}\n"
      "weights {}: {}\n\n{}",
      facts.name.empty() ? "model" : facts.name, facts.architecture, facts.n_layers, facts.n_params,
      o.context, o.sequences, o.cells < most_cells ? fmt::format(" in {} cells", o.cells) : "",
      o.route.empty() ? o.backend : fmt::format("{} ({})", o.backend, o.route), o.cache_k.name(),
      o.cache_v == o.cache_k ? "" : fmt::format(" {}", o.cache_v.name()),
      choose_workers(o.workers).reason, to_string(o.weights), planned.weights_reason,
      offer.memory().to_text());
  if (o.kept > 0)
    out += fmt::format("{} slots, beside them room for {} tokens of at most {} texts that ended\n",
                       offer.slots, o.kept_tokens, o.kept);
  out += requests_text(offer) + drafts_text(offer.drafts);
  out += fmt::format("may use {}{}\n", human_bytes(o.mem_budget),
                     offer.concessions.empty() ? "" : ", hence these concessions:");
  for (const std::string& concession : offer.concessions) out += fmt::format("  {}\n", concession);
  return out + tuned_text(planned) + start_text(planned.memory) + to_text(model, planned);
}

}  // namespace weft::tools
