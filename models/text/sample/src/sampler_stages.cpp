#include "sampler_stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "weft/base/error.h"

namespace weft {
namespace {

struct StageRow {
  std::string_view name;
  std::string_view parameters;  // for messages
  int n_parameters;             // -1: pairs, any number
  stages::Made (*make)(stages::Parameters);
  bool more_may_follow = false;
};

constexpr StageRow kStages[] = {
    {"penalties", "last_n, repeat, frequency, presence", 4, stages::penalties},
    {"dry", "multiplier, base, allowed_length, last_n, breakers ...", 4, stages::dry, true},
    {"logit_bias", "id, bias, ...", -1, stages::logit_bias},
    {"top_n_sigma", "n", 1, stages::top_n_sigma},
    {"top_k", "k", 1, stages::top_k},
    {"typical", "p, min_keep", 2, stages::typical},
    {"top_p", "p, min_keep", 2, stages::top_p},
    {"min_p", "p, min_keep", 2, stages::min_p},
    {"xtc", "probability, threshold, min_keep", 3, stages::xtc},
    {"tail_free", "z, min_keep", 2, stages::tail_free},
    {"temp", "t", 1, stages::temperature},
    {"temp_ext", "t, delta, exponent", 3, stages::dynamic_temperature},
    {"mirostat", "tau, eta, m", 3, stages::mirostat1},
    {"mirostat_v2", "tau, eta", 2, stages::mirostat2},
    {"adaptive_p", "target, decay", 2, stages::adaptive_p},
};

void check_parameters(const StageRow& row, std::span<const double> given) {
  const bool pairs = row.n_parameters < 0;
  const auto n = static_cast<std::size_t>(std::max(0, row.n_parameters));
  if (pairs ? given.size() % 2 != 0 : row.more_may_follow ? given.size() < n : given.size() != n) {
    fail<ValueError>("sampler stage '{}' takes ({}), got {} values", row.name, row.parameters,
                     given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool banned_token =
        pairs && i % 2 == 1 && given[i] == -std::numeric_limits<double>::infinity();
    if (!(std::abs(given[i]) <= std::numeric_limits<float>::max()) && !banned_token) {
      fail<ValueError>("sampler stage '{}' ({}): value {} is {}", row.name, row.parameters, i + 1,
                       given[i]);
    }
  }
}

}  // namespace

std::unique_ptr<SamplerStage> make_sampler_stage(const StageSpec& spec) {
  std::string known;
  for (const StageRow& row : kStages) {
    if (row.name == spec.name) {
      check_parameters(row, spec.parameters);
      return row.make(spec.parameters);
    }
    if (!known.empty()) known += ", ";
    known += row.name;
  }
  fail<UnsupportedError>("there is no sampler stage '{}'; known are {}", spec.name, known);
}

std::size_t stages::count(double value) {
  if (!(value >= 0 && value <= std::numeric_limits<std::int32_t>::max())) {
    fail<ValueError>("a count in a sampler stage must be 0 .. 2^31 - 1, got {}", value);
  }
  return static_cast<std::size_t>(value);
}

}  // namespace weft
