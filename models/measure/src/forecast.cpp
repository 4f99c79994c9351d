#include "weft/measure/forecast.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/files/file_reads.h"
#include "weft/measure/read_speed.h"
#include "weft/run/estimates.h"
#include "weft/run/memory_plan.h"
#include "weft/run/modes.h"
#include "weft/run/read_choices.h"

#include "step_time.h"

namespace weft::bench {
namespace {

constexpr double kPublishedSkew = 0.5;  // see estimate_cache()
constexpr double kReadSeconds = 0.5;

// The options of a session that can feed tokens.
SessionOptions usable(const Model& model, SessionOptions options) {
  require(model, Feature::forecasts);
  options.embeddings |= !model.facts().has_output;
  return options;
}

// The speed of reading the model's largest file.
ReadSpeed read_speed(const Model& model) {
  const std::span<const std::string> paths = model.file().part_paths();
  const auto bytes = [](const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
  };
  const std::string& path = *std::ranges::max_element(paths, {}, bytes);
  constexpr auto kBlock = static_cast<std::int64_t>(kReadAlignment);
  const run::ReadChoices choices = run::read_choices();
  const auto block =
      std::min(choices.block, static_cast<std::int64_t>(bytes(path)) / kBlock * kBlock);
  if (block == 0) return {};
  return measure_read_speed(path, {.depth = choices.depth, .block = block}, kReadSeconds);
}

// A step of some tokens, and how often it is run for one phase.
struct Steps {
  double computed = 0;  // seconds of one with all weights in memory
  std::int64_t width = 1;
  std::int64_t n = 1;
  double tokens = 1;  // all steps together
};

// Weights that are read in order are read while others are computed. Experts are too if a step is
// wide, because those of the next layer are known before its router has chosen. When decoding, a
// layer waits for them: guesses make that shorter, but how many are right depends on the model.
ForecastSpeed speed_of(const Residency& residency, const Steps& steps, double skew, double disk,
                       const std::atomic<bool>* cancel) {
  constexpr std::int64_t kWide = 32;
  const CacheEstimate cache = estimate_cache(residency, steps.width, skew, cancel);
  const auto in_order = static_cast<double>(residency.streamed_bytes());
  const auto reading = [&](double bytes) { return bytes > 0 && disk > 0 ? bytes / disk : 0; };
  const bool ahead = steps.width >= kWide;
  const double beside = reading(in_order + (ahead ? cache.bytes_per_step : 0));
  const double seconds =
      std::max(steps.computed, beside) + (ahead ? 0 : reading(cache.bytes_per_step));
  const auto n = static_cast<double>(steps.n);
  return {.tokens_per_second = steps.tokens / (n * seconds),
          .hits = cache.hit_rate,
          .bytes_per_token = n * (in_order + cache.bytes_per_step) / steps.tokens};
}

PhaseForecast phase_of(const Residency& residency, const Steps& steps, double disk,
                       const std::atomic<bool>* cancel) {
  PhaseForecast phase{.in_memory = steps.tokens / (static_cast<double>(steps.n) * steps.computed)};
  phase.uniform = speed_of(residency, steps, 0, disk, cancel);
  phase.skewed = residency.groups.empty()
                     ? phase.uniform
                     : speed_of(residency, steps, kPublishedSkew, disk, cancel);
  return phase;
}

DepthForecast time_plan(const std::shared_ptr<const Model>& model, PlannedModel planned,
                        std::int64_t depth, double disk, const ForecastOptions& how) {
  DepthForecast result{
      .depth = depth, .context = planned.options.context, .weights = planned.options.weights};
  planned.options.sample_weights = true;
  const Residency residency = planned.residency;
  Session session(std::move(planned), model);
  session.fill_with_noise(0, depth);
  const std::int64_t width = std::min(how.prompt, session.options().prefill_width);
  const Steps prefill{.computed = step_seconds(session, depth, width, how.seconds, how.cancel),
                      .width = width,
                      .n = (how.prompt + width - 1) / width,
                      .tokens = static_cast<double>(how.prompt)};
  result.prefill = phase_of(residency, prefill, disk, how.cancel);
  if (!model->facts().gives_text()) return result;
  const Steps decode{.computed = decode_seconds(session, depth, how.seconds, how.cancel)};
  result.decode = phase_of(residency, decode, disk, how.cancel);
  return result;
}

// Says why steps after `depth` tokens cannot be timed. Empty if the memory can have room for the
// `needed` tokens.
std::string refusal(const Model& model, const SessionOptions& options, std::int64_t depth,
                    std::int64_t needed) {
  if (depth == 0) return {};
  if (!model.facts().causal) return "the model reads whole texts";
  if (needed > model.facts().context) return "longer than the context of the model";
  if (options.cells > 0 && needed > options.cells) return "longer than the cells of the cache";
  return {};
}

// `context` is that of a session without a depth.
DepthForecast forecast_at(const std::shared_ptr<const Model>& model, SessionOptions options,
                          std::int64_t context, std::int64_t depth, double disk,
                          const ForecastOptions& how) {
  const std::int64_t needed = depth + how.prompt;
  DepthForecast none{.depth = depth,
                     .context = depth > 0 ? std::max(context, needed) : context,
                     .refused = refusal(*model, options, depth, needed)};
  if (!none.refused.empty()) return none;
  if (depth > 0) options.context = none.context;
  std::optional<PlannedModel> planned = plan_if_fits(*model, options);
  const auto bytes = [&] {
    return planned->memory.state + planned->memory.arena + sample_bytes(*model, *planned);
  };
  if (planned && bytes() <= planned->options.mem_budget)
    return time_plan(model, std::move(*planned), depth, disk, how);
  none.refused = planned ? "the budget has no room to time steps" : "does not fit the budget";
  return none;
}

nlohmann::ordered_json speed_json(const ForecastSpeed& speed) {
  return {{"tokens_per_second", speed.tokens_per_second},
          {"hits", speed.hits},
          {"bytes_per_token", speed.bytes_per_token}};
}

nlohmann::ordered_json phase_json(const PhaseForecast& phase) {
  return {{"in_memory", phase.in_memory},
          {"uniform", speed_json(phase.uniform)},
          {"skewed", speed_json(phase.skewed)}};
}

}  // namespace

Forecast forecast(const std::shared_ptr<const Model>& model, const SessionOptions& requested,
                  const ForecastOptions& how) {
  if (how.prompt < 1 || how.seconds <= 0 ||
      std::ranges::any_of(how.depths, [](std::int64_t depth) { return depth < 0; }))
    fail<ValueError>("a forecast needs a prompt, a time limit, and depths from 0 on");
  const SessionOptions options = usable(*model, requested);
  const ReadSpeed disk = read_speed(*model);
  Forecast result{.read_speed = disk.bytes_per_second, .reader = disk.reader, .prompt = how.prompt};
  const PlannedModel first = plan_model(*model, options);
  const LoadEstimate load = estimate_load(*model, first);
  result.start_bytes = load.bytes;
  result.cached_start_seconds = load.cached_seconds;
  const double reading =
      disk.bytes_per_second > 0 ? static_cast<double>(load.bytes) / disk.bytes_per_second : 0;
  result.start_seconds = std::max(load.cached_seconds, reading);
  for (const std::int64_t depth : how.depths)
    result.depths.push_back(
        forecast_at(model, options, first.options.context, depth, disk.bytes_per_second, how));
  return result;
}

std::string to_json(const Forecast& forecast) {
  using Json = nlohmann::ordered_json;
  Json depths = Json::array();
  for (const DepthForecast& d : forecast.depths) {
    Json row{{"depth", d.depth}, {"context", d.context}};
    if (d.refused.empty()) {
      row["weights"] = to_string(d.weights);
      row["prefill"] = phase_json(d.prefill);
      if (d.decode.in_memory > 0) row["decode"] = phase_json(d.decode);
    } else {
      row["refused"] = d.refused;
    }
    depths.push_back(std::move(row));
  }
  const Json json{{"read_bytes_per_second", forecast.read_speed},
                  {"reader", forecast.reader},
                  {"start_seconds", forecast.start_seconds},
                  {"cached_start_seconds", forecast.cached_start_seconds},
                  {"start_bytes", forecast.start_bytes},
                  {"prompt", forecast.prompt},
                  {"depths", std::move(depths)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::bench
