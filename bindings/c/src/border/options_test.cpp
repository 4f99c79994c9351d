#include "border/options.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/session_knobs.h"
#include "weft/sample/sampler_knobs.h"

namespace weft::c_api {
namespace {

struct Member {
  std::string_view name;
  void (*set)(weft_sampler_options& options, double value);
};
#define MEMBER(name)                                                                       \
  {                                                                                        \
#name, [](weft_sampler_options & options,                                              \
              double value) { options.name = static_cast<decltype(options.name)>(value); } \
  }
// The numbers of weft_sampler_options, by the names that they have in C.
constexpr Member kMembers[] = {MEMBER(top_k),
                               MEMBER(temperature),
                               MEMBER(top_p),
                               MEMBER(min_p),
                               MEMBER(typical_p),
                               MEMBER(top_n_sigma),
                               MEMBER(tfs_z),
                               MEMBER(repeat_penalty),
                               MEMBER(frequency_penalty),
                               MEMBER(presence_penalty),
                               MEMBER(repeat_last_n),
                               MEMBER(dynatemp_range),
                               MEMBER(dynatemp_exponent),
                               MEMBER(xtc_probability),
                               MEMBER(xtc_threshold),
                               MEMBER(dry_multiplier),
                               MEMBER(dry_base),
                               MEMBER(dry_allowed_length),
                               MEMBER(dry_penalty_last_n),
                               MEMBER(mirostat),
                               MEMBER(mirostat_tau),
                               MEMBER(mirostat_eta),
                               MEMBER(adaptive_target),
                               MEMBER(adaptive_decay)};
#undef MEMBER

double value_of(const Knob<SamplerOptions>& knob, const SamplerOptions& options) {
  return std::visit([&](auto member) { return static_cast<double>(options.*member); }, knob.member);
}

// A value in the range that is not the default.
double another(const Knob<SamplerOptions>& knob) {
  const double usual = value_of(knob, {});
  for (const double value : {2.0, 1.0, 0.5, 0.25})
    if (value != usual && knob.range.contains(value)) return value;
  return usual;
}

TEST_CASE("every knob of samplers has a member of its name in C") {
  CHECK(sampler_knobs().size() == std::size(kMembers));
  for (const Knob<SamplerOptions>& knob : sampler_knobs()) {
    CAPTURE(knob.name);
    const auto* member = std::ranges::find(kMembers, knob.name, &Member::name);
    REQUIRE(member != std::end(kMembers));
    weft_sampler_options c = default_sampler_options();
    CHECK(value_of(knob, sampler_options(&c)) == value_of(knob, {}));
    const double wanted = another(knob);
    REQUIRE(wanted != value_of(knob, {}));
    member->set(c, wanted);
    CHECK(value_of(knob, sampler_options(&c)) == wanted);
  }
}

TEST_CASE("the range of every knob is checked") {
  for (const Knob<SamplerOptions>& knob : sampler_knobs()) {
    if (knob.range.min == KnobRange{}.min) continue;
    CAPTURE(knob.name);
    weft_sampler_options c = default_sampler_options();
    std::ranges::find(kMembers, knob.name, &Member::name)->set(c, knob.range.min - 1);
    CHECK_THROWS_AS(sampler_options(&c), ValueError);
  }
}

TEST_CASE("every option of a session that C has gets the value that C gives") {
  weft_session_options c = default_session_options();
  c.context = c.cells = c.prefill_width = c.logits_rows = c.mem_budget = c.caller_bytes = 7;
  c.sequences = c.workers = 7;
  c.weights = WEFT_WEIGHTS_STREAMED;
  c.backend = c.route = c.weight_cache = c.passes_off = c.expert_usage = "other";
  c.cache_k = c.cache_v = "Q8_0";
  c.executor = "crew";
  c.embeddings = c.separate_tensors = c.draft_layer = 1;
  c.rewind = 7;
  c.progress = [](void*, double) { return 0; };
  c.log = [](void*, const char*) {};
  c.poll = [](void*) { return 0; };
  const SessionOptions given = session_options(&c), initial;
  for_each_option(given, [&]<class M>(const auto& option, const M& value) {
    CAPTURE(option.name);
    if constexpr (requires { value == value; })
      CHECK((value == initial.*option.member) == option.c.empty());
    else
      CHECK(static_cast<bool>(value) == !option.c.empty());
  });
  c.cache_k = "Q9";
  CHECK_THROWS_WITH_AS(session_options(&c),
                       "`cache_k` must be one of F32, F16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, got 'Q9'",
                       ValueError);
  c = default_session_options();
  c.weights = 4;
  CHECK_THROWS_WITH_AS(session_options(&c), "weights must be from 0 to 3 (WEFT_WEIGHTS_..), got 4",
                       ValueError);
}

TEST_CASE("the other parameters of samplers are read") {
  CHECK(sampler_texts().size() == 4);  // those that follow
  const weft_logit_bias bias{7, -1.5F};
  const weft_token breaker = 3;
  weft_sampler_options c = default_sampler_options();
  c.seed = std::uint64_t{1} << 63;
  c.n_logit_bias = c.n_dry_breakers = 1;
  c.logit_bias = &bias;
  c.dry_breakers = &breaker;
  c.order = "temp;top_k";
  const SamplerOptions options = sampler_options(&c);
  CHECK(options.seed == std::uint64_t{1} << 63);
  CHECK(options.logit_bias == std::vector<std::pair<TokenId, float>>{{7, -1.5F}});
  CHECK(options.dry_breakers == std::vector<TokenId>{3});
  CHECK(options.order == std::vector<std::string>{"temperature", "top_k"});
  c.order = "";
  CHECK(sampler_options(&c).order == std::nullopt);
}

}  // namespace
}  // namespace weft::c_api
