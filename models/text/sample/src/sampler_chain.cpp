// From options to a chain of stages.

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/sample/sampler.h"

namespace weft {
namespace {

using Specs = std::vector<StageSpec>;

struct Link {
  std::string_view name;
  void (*add)(const SamplerOptions& options, Specs& chain);
};

void penalties(const SamplerOptions& o, Specs& chain) {
  const bool any =
      o.repeat_penalty != 1.0F || o.frequency_penalty != 0.0F || o.presence_penalty != 0.0F;
  if (o.penalty_last_n > 0 && any)
    chain.push_back({"penalties",
                     {static_cast<double>(o.penalty_last_n), o.repeat_penalty, o.frequency_penalty,
                      o.presence_penalty}});
}

void dry(const SamplerOptions& o, Specs& chain) {
  if (o.dry_multiplier == 0.0F || o.dry_last_n == 0) return;
  StageSpec spec{"dry",
                 {o.dry_multiplier, o.dry_base, static_cast<double>(o.dry_allowed_length),
                  static_cast<double>(o.dry_last_n)}};
  for (const TokenId id : o.dry_breakers) spec.parameters.push_back(id);
  chain.push_back(std::move(spec));
}

void temperature(const SamplerOptions& o, Specs& chain) {
  if (o.dynamic_range > 0.0F && o.temperature > 0.0F) {
    chain.push_back({"temp_ext", {o.temperature, o.dynamic_range, o.dynamic_exponent}});
  } else {
    chain.push_back({"temp", {o.temperature}});
  }
}

constexpr Link kLinks[] = {
    {"penalties", penalties},
    {"dry", dry},
    {"top_n_sigma",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.top_n_sigma > 0.0F) chain.push_back({"top_n_sigma", {o.top_n_sigma}});
     }},
    {"top_k",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.top_k > 0) chain.push_back({"top_k", {static_cast<double>(o.top_k)}});
     }},
    {"typ_p",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.typical_p < 1.0F) chain.push_back({"typical", {o.typical_p, 1}});
     }},
    {"tail_free",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.tail_free_z < 1.0F) chain.push_back({"tail_free", {o.tail_free_z, 1}});
     }},
    {"top_p",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.top_p < 1.0F) chain.push_back({"top_p", {o.top_p, 1}});
     }},
    {"min_p",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.min_p > 0.0F) chain.push_back({"min_p", {o.min_p, 1}});
     }},
    {"xtc",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.xtc_probability > 0.0F)
         chain.push_back({"xtc", {o.xtc_probability, o.xtc_threshold, 1}});
     }},
    {"temperature", temperature},
    {"adaptive_p",
     [](const SamplerOptions& o, Specs& chain) {
       if (o.adaptive_target >= 0.0F)
         chain.push_back({"adaptive_p", {o.adaptive_target, o.adaptive_decay}});
     }},
};

const Link& find_link(const std::string& name) {
  const auto* link = std::find_if(std::begin(kLinks), std::end(kLinks),
                                  [&](const Link& l) { return l.name == name; });
  if (link != std::end(kLinks)) return *link;
  std::string known;
  for (const Link& l : kLinks) known.append(known.empty() ? "" : ", ").append(l.name);
  fail<UnsupportedError>("there is no sampler '{}'; known are {}", name, known);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Link& link : kLinks) result.emplace_back(link.name);
  return result;
}

}  // namespace

const std::vector<std::string> kSamplerOrder = names();

std::vector<StageSpec> sampler_chain(const SamplerOptions& options) {
  Specs chain;
  if (!options.logit_bias.empty()) {
    StageSpec bias{"logit_bias", {}};
    for (const auto& [id, value] : options.logit_bias) {
      bias.parameters.push_back(id);
      bias.parameters.push_back(value);
    }
    chain.push_back(std::move(bias));
  }
  const auto& order = options.order.empty() ? kSamplerOrder : options.order;
  for (const std::string& name : order) {
    const Link& link = find_link(name);
    const bool changes_logits = name == "penalties" || name == "dry" || name == "temperature";
    // The most likely token survives every truncation but XTC's; mirostat wants all candidates.
    if ((options.temperature <= 0.0F || options.mirostat != 0) && !changes_logits) continue;
    link.add(options, chain);
  }
  if (options.temperature > 0.0F && options.mirostat == 1)
    chain.push_back({"mirostat", {options.mirostat_tau, options.mirostat_eta, 100}});
  if (options.temperature > 0.0F && options.mirostat == 2)
    chain.push_back({"mirostat_v2", {options.mirostat_tau, options.mirostat_eta}});
  return chain;
}

double log_of_total(std::span<const float> logits) {
  const float max = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - max);
  return max + std::log(total);
}

float logprob(std::span<const float> logits, TokenId id) {
  return static_cast<float>(logits[static_cast<std::size_t>(id)] - log_of_total(logits));
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
  const double total = log_of_total(logits);
  for (std::size_t i = 0; i < n; ++i) {
    const float logit = logits[static_cast<std::size_t>(ids[i])];
    best.push_back({ids[i], static_cast<float>(logit - total)});
  }
  return best;
}

}  // namespace weft
