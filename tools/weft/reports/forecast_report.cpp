#include "reports/forecast_report.h"

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"

namespace weft::tools {
namespace {

using bench::DepthForecast;
using bench::Forecast;
using bench::ForecastSpeed;
using bench::PhaseForecast;

std::string from_disk(std::string_view choices, const ForecastSpeed& speed, bool has_experts) {
  std::string text = fmt::format("{:>25} {:>8}", choices, three_digits(speed.tokens_per_second));
  text += fmt::format("  {}/token", human_bytes(static_cast<std::int64_t>(speed.bytes_per_token)));
  if (has_experts) text += fmt::format(", {:.0f} % of the experts in memory", 100 * speed.hits);
  return text + '\n';
}

std::string phase_text(std::string_view name, const PhaseForecast& phase) {
  std::string text =
      fmt::format("  {:<10}{:>12} {:>8}\n", name, "in memory", three_digits(phase.in_memory));
  if (phase.uniform.bytes_per_token == 0 && phase.skewed.bytes_per_token == 0) return text;
  const bool has_experts = phase.uniform.hits < 1 || phase.skewed.hits < 1;
  if (!has_experts) return text + from_disk("streamed", phase.uniform, false);
  return text + from_disk("uniform routers", phase.uniform, true) +
         from_disk("skewed routers", phase.skewed, true);
}

std::string depth_text(const DepthForecast& d) {
  const std::string head = fmt::format("after {} tokens", d.depth);
  if (!d.refused.empty()) return fmt::format("{}: {}\n", head, d.refused);
  std::string text =
      fmt::format("{} (context {}, weights {})\n", head, d.context, to_string(d.weights));
  text += phase_text("prefill", d.prefill);
  if (d.decode.in_memory > 0) text += phase_text("decode", d.decode);  // not if it gives no text
  return text;
}

}  // namespace

std::string to_text(const Forecast& forecast) {
  std::string text = "\nforecast, in tokens per second";
  text += fmt::format(" (prompts of {} tokens)\n", forecast.prompt);
  if (forecast.read_speed > 0)
    text +=
        fmt::format("disk: {}/s ({})\n",
                    human_bytes(static_cast<std::int64_t>(forecast.read_speed)), forecast.reader);
  text += fmt::format("start: {} to load {}, {} from the page cache\n",
                      human_ns(forecast.start_seconds * 1e9), human_bytes(forecast.start_bytes),
                      human_ns(forecast.cached_start_seconds * 1e9));
  for (const DepthForecast& d : forecast.depths) text += depth_text(d);
  return text;
}

}  // namespace weft::tools
