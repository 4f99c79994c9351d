// Builds a chain of stages from options.

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/sample/log_sum_exp.h"
#include "weft/sample/sampler.h"
#include "weft/sample/stages.h"

namespace weft {
namespace {

using Options = SamplerOptions;

struct StageRow {
  std::string_view name;
  bool shapes_draw;                    // skipped for greedy decoding and with mirostat
  StagePtr (*make)(const Options& o);  // null if the stage would do nothing
  // Its names in llama.cpp and other programs.
  std::array<std::string_view, 5> other_names = {};
};

StagePtr penalties(const Options& o) {
  const bool any =
      o.repeat_penalty != 1.0F || o.frequency_penalty != 0.0F || o.presence_penalty != 0.0F;
  if (o.penalty_last_n <= 0 || !any) return nullptr;
  return make(stages::Penalties{.last_n = o.penalty_last_n,
                                .repeat = o.repeat_penalty,
                                .frequency = o.frequency_penalty,
                                .presence = o.presence_penalty});
}

StagePtr dry(const Options& o) {
  if (o.dry_multiplier == 0.0F || o.dry_last_n == 0) return nullptr;
  return make(stages::Dry{.multiplier = o.dry_multiplier,
                          .base = o.dry_base,
                          .allowed_length = o.dry_allowed_length,
                          .last_n = o.dry_last_n,
                          .breakers = o.dry_breakers});
}

StagePtr top_n_sigma(const Options& o) {
  return o.top_n_sigma > 0.0F ? make(stages::TopNSigma{.n = o.top_n_sigma}) : nullptr;
}

StagePtr top_k(const Options& o) {
  return o.top_k > 0 ? make(stages::TopK{.k = o.top_k}) : nullptr;
}

StagePtr typical(const Options& o) {
  return o.typical_p < 1.0F ? make(stages::Typical{.p = o.typical_p}) : nullptr;
}

StagePtr tail_free(const Options& o) {
  return o.tail_free_z < 1.0F ? make(stages::TailFree{.z = o.tail_free_z}) : nullptr;
}

StagePtr top_p(const Options& o) {
  return o.top_p < 1.0F ? make(stages::TopP{.p = o.top_p}) : nullptr;
}

StagePtr min_p(const Options& o) {
  return o.min_p > 0.0F ? make(stages::MinP{.p = o.min_p}) : nullptr;
}

StagePtr xtc(const Options& o) {
  if (o.xtc_probability <= 0.0F) return nullptr;
  return make(stages::Xtc{.probability = o.xtc_probability, .threshold = o.xtc_threshold});
}

StagePtr temperature(const Options& o) {
  if (o.dynamic_range <= 0.0F || o.temperature <= 0.0F)
    return make(stages::Temperature{.t = o.temperature});
  return make(stages::DynamicTemperature{
      .t = o.temperature, .delta = o.dynamic_range, .exponent = o.dynamic_exponent});
}

StagePtr adaptive_p(const Options& o) {
  if (o.adaptive_target < 0.0F) return nullptr;
  return make(stages::AdaptiveP{.target = o.adaptive_target, .decay = o.adaptive_decay});
}

StagePtr mirostat(const Options& o) {
  if (o.temperature <= 0.0F) return nullptr;
  if (o.mirostat == 1) return make(stages::Mirostat1{.tau = o.mirostat_tau, .eta = o.mirostat_eta});
  if (o.mirostat == 2) return make(stages::Mirostat2{.tau = o.mirostat_tau, .eta = o.mirostat_eta});
  return nullptr;
}

// In the default order.
constexpr StageRow kStages[] = {
    {"penalties", false, penalties},
    {"dry", false, dry},
    {"top_n_sigma", true, top_n_sigma, {"top-n-sigma"}},
    {"top_k", true, top_k, {"top-k"}},
    {"typ_p", true, typical, {"typical_p", "typical", "typical-p", "typ-p", "typ"}},
    {"tail_free", true, tail_free, {"tfs_z", "tfs"}},
    {"top_p", true, top_p, {"top-p", "nucleus"}},
    {"min_p", true, min_p, {"min-p"}},
    {"xtc", true, xtc},
    {"temperature", false, temperature, {"temp"}},
    {"adaptive_p", true, adaptive_p, {"adaptive-p"}},
};

// Letters of llama.cpp (common/sampling.cpp), which has none for tail_free.
constexpr std::pair<char, std::string_view> kLetters[] = {
    {'e', "penalties"},   {'d', "dry"},        {'s', "top_n_sigma"}, {'k', "top_k"},
    {'y', "typ_p"},       {'p', "top_p"},      {'m', "min_p"},       {'x', "xtc"},
    {'t', "temperature"}, {'a', "adaptive_p"},
};

const StageRow* stage_or_end(std::string_view name) {
  return std::ranges::find_if(kStages, [&name](const StageRow& r) {
    return name == r.name ||
           (!name.empty() && std::ranges::find(r.other_names, name) != r.other_names.end());
  });
}

const StageRow& find_stage(const std::string& name) {
  const auto* row = stage_or_end(name);
  if (row == std::end(kStages))
    fail<UnsupportedError>("unknown sampler '{}' (known: {})", name,
                           fmt::join(kSamplerOrder, ", "));
  return *row;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const StageRow& row : kStages) result.emplace_back(row.name);
  return result;
}

}  // namespace

const std::vector<std::string>& kSamplerOrder = *new std::vector<std::string>(names());

std::vector<std::string> sampler_order(std::span<const std::string> names) {
  std::vector<std::string> order;
  for (const std::string& name : names) order.emplace_back(find_stage(name).name);
  return order;
}

bool is_sampler(std::string_view name) {
  return stage_or_end(name) != std::end(kStages);
}

std::string sampler_letters() {
  std::string text;
  for (const auto& [letter, name] : kLetters)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", letter, name);
  return text;
}

std::vector<std::string> sampler_order_of_letters(std::string_view letters) {
  std::vector<std::string> order;
  for (const char letter : letters) {
    const auto* row =
        std::ranges::find(kLetters, letter, &std::pair<char, std::string_view>::first);
    if (row == std::end(kLetters))
      fail<UnsupportedError>("unknown sampler '{}' in '{}' (known letters: {}; known names: {})",
                             letter, letters, sampler_letters(), fmt::join(kSamplerOrder, ", "));
    order.emplace_back(row->second);
  }
  return order;
}

std::vector<StagePtr> sampler_chain(const Options& options) {
  std::vector<StagePtr> chain;
  if (!options.logit_bias.empty()) {
    chain.push_back(
        make(stages::LogitBias{.biases = {options.logit_bias.begin(), options.logit_bias.end()}}));
  }
  // The most likely token survives every truncation except XTC's; mirostat needs all candidates.
  const bool draws = options.temperature > 0.0F && options.mirostat == 0;
  for (const std::string& name : options.order ? *options.order : kSamplerOrder) {
    const StageRow& row = find_stage(name);
    if (row.shapes_draw && !draws) continue;
    if (StagePtr stage = row.make(options)) chain.push_back(std::move(stage));
  }
  if (StagePtr stage = mirostat(options)) chain.push_back(std::move(stage));
  return chain;
}

float logprob(std::span<const float> logits, TokenId id) {
  return static_cast<float>(logits[static_cast<std::size_t>(id)] - precise_log_sum_exp(logits));
}

std::vector<Likely> most_likely(std::span<const float> logits, std::size_t n) {
  std::vector<TokenId> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
  n = std::min(n, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end(),
                    [&](TokenId a, TokenId b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  std::vector<Likely> best;
  if (n == 0) return best;
  const double total = precise_log_sum_exp(logits);
  for (std::size_t i = 0; i < n; ++i) {
    const float logit = logits[static_cast<std::size_t>(ids[i])];
    best.push_back({ids[i], static_cast<float>(logit - total)});
  }
  return best;
}

}  // namespace weft
