#include "weft/sample/sampler.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "border/arguments.h"
#include "border/call.h"
#include "border/gate.h"
#include "border/handles.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

struct SamplerObject : Object {
  static constexpr Kind kKind = Kind::sampler;
  explicit SamplerObject(Sampler from) : Object(kKind), sampler(std::move(from)) {}
  SamplerObject& inner() { return *this; }

  Gate gate{"sampler", Gate::Threads::none};
  Sampler sampler;
  bool sampled = false;  // the sampler has candidates
  std::vector<weft_candidate> candidates;
};

using UsedSampler = Used<SamplerObject>;

std::span<const float> checked_logits(const float* logits, std::size_t n) {
  constexpr std::size_t kMaxTokens = std::numeric_limits<weft_token>::max();
  const auto all = array(logits, n, "logits");
  if (n == 0 || n > kMaxTokens)
    fail<ValueError>("`n` must be from 1 to {} logits, got {}", kMaxTokens, n);
  return all;
}

// Logits that have logarithms of probabilities.
std::span<const float> finite_logits(const float* logits, std::size_t n) {
  const auto all = checked_logits(logits, n);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto wrong = std::ranges::find_if(all, [](float x) { return !(x < kInfinity); });
  if (wrong != all.end())
    fail<ValueError>("the logit of token {} is {}", wrong - all.begin(), *wrong);
  if (std::ranges::all_of(all, [](float x) { return x == -kInfinity; }))
    fail<ValueError>("all {} logits are -inf", n);
  return all;
}

void check_index(weft_token token, std::size_t n) {
  if (token < 0 || std::cmp_greater_equal(token, n))
    fail<ValueError>("`token` must be from 0 to {}, got {}", n - 1, token);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_sampler_open(const weft_sampler_options* options, weft_sampler** sampler,
                              weft_error** error) {
  return call(error, [&] {
    required(sampler, "sampler");
    *sampler =
        handle_of<weft_sampler>(std::make_shared<SamplerObject>(Sampler(sampler_options(options))));
  });
}

weft_status weft_sampler_sample(weft_sampler* sampler, const float* logits, size_t n,
                                weft_token* token, weft_error** error) {
  return call(error, [&] {
    const UsedSampler s(sampler);
    required(token, "token");
    const auto all = checked_logits(logits, n);
    s->sampled = false;
    *token = s->sampler.sample(all);
    s->sampled = true;
  });
}

weft_status weft_sampler_accept(weft_sampler* sampler, weft_token token, weft_error** error) {
  return call(error, [&] {
    const UsedSampler s(sampler);
    if (token < 0) fail<ValueError>("{} is not a token", token);
    s->sampler.accept(token);
  });
}

weft_status weft_sampler_reset(weft_sampler* sampler, weft_error** error) {
  return call(error, [&] { UsedSampler(sampler)->sampler.reset(); });
}

weft_status weft_sampler_reseed(weft_sampler* sampler, uint64_t seed, weft_error** error) {
  return call(error, [&] { UsedSampler(sampler)->sampler.reseed(seed); });
}

weft_status weft_sampler_copy(weft_sampler* sampler, weft_sampler** copy, weft_error** error) {
  return call(error, [&] {
    const UsedSampler s(sampler);
    required(copy, "copy");
    auto object = std::make_shared<SamplerObject>(s->sampler);
    object->sampled = s->sampled;
    *copy = handle_of<weft_sampler>(std::move(object));
  });
}

weft_status weft_sampler_get_candidates(weft_sampler* sampler, const weft_candidate** candidates,
                                        size_t* n, weft_error** error) {
  return call(error, [&] {
    const UsedSampler s(sampler);
    required(candidates, "candidates");
    required(n, "n");
    s->candidates.clear();
    if (s->sampled) {
      for (const Candidate& c : s->sampler.candidates())
        s->candidates.push_back({c.id, c.logit, c.p});
    }
    *candidates = s->candidates.data();
    *n = s->candidates.size();
  });
}

weft_status weft_sampler_free(weft_sampler* sampler) {
  return free_handle<SamplerObject>(sampler);
}

weft_status weft_top_logprobs(const float* logits, size_t n, weft_logprob* top, size_t n_top,
                              weft_error** error) {
  return call(error, [&] {
    const auto all = finite_logits(logits, n);
    const auto out = array(top, n_top, "top");
    if (n_top > n) fail<ValueError>("`n_top` must be at most {}, got {}", n, n_top);
    std::ranges::transform(most_likely(all, n_top), out.begin(), [](const Likely& likely) {
      return weft_logprob{likely.id, likely.logprob};
    });
  });
}

weft_status weft_logprob_of(const float* logits, size_t n, weft_token token, float* result,
                            weft_error** error) {
  return call(error, [&] {
    const auto all = finite_logits(logits, n);
    check_index(token, n);
    required(result, "logprob");
    *result = logprob(all, token);
  });
}
