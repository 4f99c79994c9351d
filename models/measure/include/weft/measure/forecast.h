#pragma once
// How fast a session would be, without loading the model: `weft plan --forecast`.
//
// Steps of the plan are timed with samples in place of weights (SessionOptions::sample_weights).
// What streamed weights add follows from the speed of the disk and from the experts that steps find
// in the cache, which random choices fill.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft::bench {

struct ForecastOptions {
  std::vector<std::int64_t> depths = {0, 4096, 16384};
  std::int64_t prompt = 512;  // tokens of prefill
  // About the time for a phase. Of a longer prefill some stages are timed; decoding takes at least
  // two steps.
  double seconds = 2;
  const std::atomic<bool>* cancel = nullptr;  // may be null
};

// Tokens per second if routers choose in some way, with the experts and bytes that they then need.
struct ForecastSpeed {
  double tokens_per_second = 0;
  double hits = 1;             // the part of the experts that is in memory, 0..1
  double bytes_per_token = 0;  // from disk
};

// Prefill or decode after a number of tokens.
struct PhaseForecast {
  double in_memory = 0;  // tokens per second with all weights in memory
  // With weights from disk, without the guesses of experts (a lower bound when decoding). Experts
  // are chosen equally often, and as unequally as published (estimates.h). The same if no experts
  // are streamed.
  ForecastSpeed uniform, skewed;
};

struct DepthForecast {
  std::int64_t depth = 0;
  std::int64_t context = 0;  // the session's: at least that of the options
  WeightMode weights = WeightMode::automatic;
  std::string refused;  // why there is none; the rest is then empty
  PhaseForecast prefill;
  PhaseForecast decode;  // zeros if the model does not continue texts
};

struct Forecast {
  double read_speed = 0;  // bytes per second of the disk, measured
  std::string reader;     // "io_uring, direct"
  // Loading, from the disk and from the page cache. The first step comes after that.
  double start_seconds = 0, cached_start_seconds = 0;
  std::int64_t start_bytes = 0;
  std::int64_t prompt = 0;
  std::vector<DepthForecast> depths;
};

// Throws what plan_model() throws for depth 0; UnsupportedError for models with an encoder and a
// decoder, and for plans with devices; ValueError unless there are a prompt, a time and depths from
// 0 on; CancelledError.
Forecast forecast(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                  const ForecastOptions& how);

std::string to_json(const Forecast& forecast);  // an object

}  // namespace weft::bench
