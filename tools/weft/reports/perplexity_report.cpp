#include "reports/perplexity_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFractions[] = {1, 0.999, 0.99, 0.95, 0.9, 0.5, 0.1, 0.05, 0.01, 0.001, 0};

std::string name_of(double fraction) {
  if (fraction == 1) return "maximum";
  if (fraction == 0.5) return "median";
  if (fraction == 0) return "minimum";
  return fmt::format("{:g} %", 100 * fraction);
}

std::string line(std::string_view name, const Estimate& e, double unit = 1,
                 std::string_view suffix = "") {
  return fmt::format("{:<28}{:>11.6f} +- {:.6f}{}\n", name, e.value * unit, e.error * unit, suffix);
}

Json json_of(const Estimate& e) {
  return {{"value", e.value}, {"error", e.error}};
}

std::string comparison_text(const Comparison& c) {
  std::string text = line("perplexity of the base", c.base_perplexity());
  text += line("ln(perplexity / base)", c.log_ratio());
  text += fmt::format("{:<28}{:>11.6f}\n", "correlation of ln p", c.correlation());
  text += line("same most likely token", c.same_top(), 100, " %");
  text += line("divergence", c.divergence());
  text += line("p - base p", c.difference(), 100, " %");
  text += line("  root mean square", c.rms_difference(), 100, " %");
  text += fmt::format("\n{:<28}{:>11}  {:>12}\n", "", "divergence", "p - base p");
  const auto divergences = c.sorted_divergences(), differences = c.sorted_differences();
  for (const double f : kFractions) {
    text += fmt::format("{:<28}{:>11.6f}  {:>10.4f} %\n", name_of(f), percentile(divergences, f),
                        100 * percentile(differences, f));
  }
  return text;
}

Json comparison_json(const Comparison& c) {
  Json out;
  out["base_perplexity"] = json_of(c.base_perplexity());
  out["log_ratio"] = json_of(c.log_ratio());
  out["correlation"] = c.correlation();
  out["same_top"] = json_of(c.same_top());
  out["divergence"] = json_of(c.divergence());
  out["difference"] = json_of(c.difference());
  out["rms_difference"] = json_of(c.rms_difference());
  const auto divergences = c.sorted_divergences(), differences = c.sorted_differences();
  for (const double f : kFractions) {
    out["percentiles"].push_back({{"fraction", f},
                                  {"divergence", percentile(divergences, f)},
                                  {"difference", percentile(differences, f)}});
  }
  return out;
}

}  // namespace

std::string to_text(const PerplexityReport& r) {
  const Estimate p = r.perplexity();
  std::string text = fmt::format("{} windows of {} tokens, {} tokens predicted\n", r.windows,
                                 r.window, r.nll.count());
  text += fmt::format("Final estimate: PPL = {:.4f} +/- {:.5f}\n", p.value, p.error);
  if (r.comparison.count() > 0) text += fmt::format("\n{}", comparison_text(r.comparison));
  return text;
}

std::string to_json(const PerplexityReport& r) {
  Json out;
  out["model"] = r.model;
  out["window"] = r.window;
  out["windows"] = r.windows;
  out["tokens"] = r.nll.count();
  out["perplexity"] = json_of(r.perplexity());
  out["nll"] = json_of(r.nll.get());
  if (r.comparison.count() > 0) out["comparison"] = comparison_json(r.comparison);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools
