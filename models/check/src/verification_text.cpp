// Reports of verify_model() as text and as JSON.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/check/verify_model.h"

#include "borders.h"

namespace weft {
namespace {

using checks::kMargin;
static_assert(kMargin == 2);  // the text says so

std::string whole_report(const VerifiedStep& step) {
  std::string text = fmt::format("plan {}\n{}\n", step.plan, step.report.to_text());
  if (step.every_projection > 1) {
    text += fmt::format("compared: one in {} of the projections of a kind; with --tokens all\n",
                        step.every_projection);
  }
  return text;
}

// One line, followed by all nodes if one of them is wrong.
std::string across_border(const VerifiedStep& step) {
  double worst = 0;
  for (const NodeCheck& node : step.report.nodes) worst = std::max(worst, node.worst_ratio);
  const std::string rows = step.n_tokens > kMargin
                               ? fmt::format(" (projections: rows {} and {})",
                                             step.n_tokens - kMargin, step.n_tokens - 1)
                               : "";
  const std::string line = fmt::format(
      "plan {}, {} from position {} on: {} nodes{}, at most {:.2g} of the bound\n", step.plan,
      step.n_tokens == 1 ? "a token" : fmt::format("{} tokens", step.n_tokens), step.position,
      step.report.nodes.size(), rows, worst);
  return step.report.first_bad() ? line + step.report.to_text() + '\n' : line;
}

}  // namespace

const NodeCheck* ModelVerification::first_bad() const {
  for (const VerifiedStep& step : steps) {
    if (const NodeCheck* bad = step.report.first_bad()) return bad;
  }
  return nullptr;
}

std::string ModelVerification::to_text() const {
  std::string off;
  for (const std::string& name : passes_off) off += ", without " + name;
  std::string text =
      fmt::format("backend: {}{}\n", backend, off == ", without all" ? ", no passes" : off);
  if (!narrowed.empty()) text += narrowed + '\n';
  for (const VerifiedStep& step : steps) {
    if (step.n_tokens == 0) text += whole_report(step);
  }
  if (nmse_from_plain >= 0) {
    text += fmt::format(
        "logits: normalized squared error {:.3g} from the plain graph by definitions; {} of {} "
        "rows "
        "have the same largest logit\n",
        nmse_from_plain, same_best, logits_rows);
  }
  if (dump_matched > 0) {
    text += fmt::format("dump: {} tensors compared, {} match no node\n", dump_matched,
                        dump_unknown.size());
    if (nmse_from_dump >= 0)
      text +=
          fmt::format("logits: normalized squared error {:.3g} from the dump\n", nmse_from_dump);
  }
  for (const VerifiedStep& step : steps) {
    if (step.n_tokens > 0) text += across_border(step);
  }
  if (!stopped.empty()) text += "stopped: " + stopped + '\n';
  return text;
}

std::string ModelVerification::to_json() const {
  const auto number = [](double x) {
    return x >= 0 && std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json();
  };
  auto all = nlohmann::ordered_json::array();
  for (const VerifiedStep& step : steps) {
    all.push_back({{"plan", step.plan},
                   {"backend", backend},
                   {"passes_off", passes_off},
                   {"logits_nmse", number(nmse_from_plain)},
                   {"dump_nmse", number(nmse_from_dump)},
                   {"stopped", stopped},
                   {"narrowed", narrowed},
                   {"tokens", step.n_tokens},
                   {"position", step.position},
                   {"every_projection", step.every_projection},
                   {"report", nlohmann::ordered_json::parse(step.report.to_json())}});
  }
  return all.dump();
}

}  // namespace weft
