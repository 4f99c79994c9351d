#include "weft/sample/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/sample/stages.h"

#include "support/npy.h"
#include "support/reference.h"

namespace weft {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class... Stages>
std::vector<StagePtr> chain_of(const Stages&... parameters) {
  std::vector<StagePtr> chain;
  (chain.push_back(make(parameters)), ...);
  return chain;
}

template <class Stage>
std::vector<TokenId> survivors(const Stage& stage, const std::vector<float>& logits) {
  Sampler sampler(chain_of(stage), 1);
  sampler.sample(logits);
  std::vector<TokenId> ids;
  for (const Candidate& c : sampler.candidates()) ids.push_back(c.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

using Ids = std::vector<TokenId>;

TEST_CASE("xoshiro256++ is the published generator") {
  // With the state that splitmix64 makes of seed 0; the first word of that state is the published
  // 0xE220A8397B1DCDAF.
  std::uint64_t s[4] = {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu,
                        0xF88BB8A8724C81ECu};
  Random random(0);
  CHECK(random.next() == std::rotl(s[0] + s[3], 23) + s[0]);
  Random uniform(3);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = uniform.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
  }
  // The mean of n uniform numbers has a standard deviation of 1 / sqrt(12 n).
  CHECK(std::abs(sum / 10000 - 0.5) < 5 / std::sqrt(12.0 * 10000));
}

TEST_CASE("truncation keeps the most likely tokens, ties are ordered by id") {
  const std::vector<float> logits = {1, 3, 3, 0, 2};
  CHECK(survivors(stages::TopK{1}, logits) == Ids{1});
  CHECK(survivors(stages::TopK{2}, logits) == Ids{1, 2});
  CHECK(survivors(stages::TopK{0}, logits).size() == 5);
  CHECK(survivors(stages::TopK{99}, logits).size() == 5);
  CHECK(survivors(stages::TopP{0, 1}, logits) == Ids{1});
  CHECK(survivors(stages::TopP{0, 3}, logits) == Ids{1, 2, 4});
  CHECK(survivors(stages::MinP{0.3, 1}, logits) == Ids{1, 2, 4});
  CHECK(survivors(stages::MinP{2, 1}, logits) == Ids{1, 2});
  CHECK(survivors(stages::Temperature{0}, logits) == Ids{1});
}

TEST_CASE("draws follow the probabilities and repeat with the seed") {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F), -kInf};
  Sampler sampler({}, 42);
  std::vector<TokenId> first;
  int count[4] = {};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const TokenId id = sampler.sample(logits);
    first.push_back(id);
    ++count[id];
  }
  const double expected[] = {0.5, 0.3, 0.2, 0};
  for (int i = 0; i < 4; ++i) {
    // Five standard deviations of a binomial count.
    CHECK(std::abs(count[i] - kDraws * expected[i]) <=
          5 * std::sqrt(kDraws * expected[i] * (1 - expected[i])));
  }
  sampler.reset();
  for (const TokenId id : first) REQUIRE(sampler.sample(logits) == id);
}

TEST_CASE("buffers are kept from call to call") {
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 97) / 10;
  Sampler sampler({.repeat_penalty = 1.1F});
  sampler.sample(logits);
  const Candidate* buffer = sampler.candidates().data();
  for (int i = 0; i < 200; ++i) {
    sampler.accept(sampler.sample(logits));
    REQUIRE(sampler.candidates().data() == buffer);
  }
}

TEST_CASE("the default chain has only the stages that do something, in order") {
  const auto names = [](const SamplerOptions& options) {
    std::string all;
    for (const StagePtr& stage : sampler_chain(options)) all += std::string(stage->name()) + " ";
    return all;
  };
  CHECK(names({}) == "top_k top_p min_p temperature ");
  CHECK(names({.repeat_penalty = 1.1F}) == "penalties top_k top_p min_p temperature ");
  CHECK(names({.temperature = 0}) == "temperature ");
  CHECK(names({.top_k = 0, .top_p = 1, .min_p = 0}) == "temperature ");
}

TEST_CASE("penalties look at the last n tokens") {
  const std::vector<float> logits = {2, 1.9F, -5};
  Sampler sampler(
      chain_of(stages::Penalties{.last_n = 2, .repeat = 2}, stages::Temperature{.t = 0}), 0);
  CHECK(sampler.sample(logits) == 0);
  sampler.accept(0);
  CHECK(sampler.sample(logits) == 1);
  sampler.accept(2);
  sampler.accept(2);  // 0 has left the window
  CHECK(sampler.sample(logits) == 0);
  sampler.accept(0);
  sampler.reset();
  CHECK(sampler.sample(logits) == 0);
  sampler.accept(kNoToken);
  sampler.accept(1000000);  // not in the vocabulary: nothing to penalize
  CHECK(sampler.sample(logits) == 0);
}

TEST_CASE("the likeliest token is found as by stages that look at all candidates") {
  Random random(5);
  for (std::size_t n = 1; n < 70; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<float> logits(n);
      for (float& x : logits) {
        x = static_cast<float>(random.next() % 7) - 3;  // many are equal
        if (x == -3) x = -kInf;
      }
      logits[random.next() % n] = -0.0F;
      Sampler slow(chain_of(stages::Temperature{0}, stages::Temperature{0}), 1);
      Sampler fast(SamplerOptions{.temperature = 0});
      const TokenId id = slow.sample(logits);
      CHECK(fast.sample(logits) == id);
      CHECK(fast.candidates().size() == 1);
      CHECK(fast.candidates()[0].id == slow.candidates()[0].id);
      CHECK(fast.candidates()[0].logit == slow.candidates()[0].logit);
      CHECK(fast.candidates()[0].p == 1);
      CHECK(likeliest(logits) == id);
      for (const float wrong : {kNan, kInf}) {
        std::vector<float> bad = logits;
        const std::size_t at = random.next() % n;
        bad[at] = wrong;
        CHECK_THROWS_WITH_AS(fast.sample(bad),
                             doctest::Contains(fmt::format("token {} ", at).c_str()), ValueError);
      }
    }
    CHECK_THROWS_WITH_AS(likeliest(std::vector<float>(n, -kInf)), doctest::Contains("-inf"),
                         ValueError);
  }
}

TEST_CASE("invalid logits are rejected by name") {
  Sampler sampler;
  CHECK_THROWS_WITH_AS(sampler.sample(std::vector<float>{0, kNan}), "the logit of token 1 is nan",
                       ValueError);
  CHECK_THROWS_WITH_AS(sampler.sample(std::vector<float>{kInf, 0}), "the logit of token 0 is inf",
                       ValueError);
  CHECK_THROWS_WITH_AS(sampler.sample(std::vector<float>{-kInf, -kInf}),
                       "no token can be chosen: all 2 logits are -inf", ValueError);
  CHECK_THROWS_AS(sampler.sample({}), ValueError);
  CHECK(sampler.sample(std::vector<float>{-kInf, 3}) == 1);
}

TEST_CASE("extreme parameters keep at least one candidate") {
  const float huge = std::numeric_limits<float>::max();
  const std::vector<float> logits = {-huge, huge, 0, -kInf};
  std::vector<StagePtr> extremes = chain_of(
      stages::Temperature{1e-40}, stages::Temperature{1e-5}, stages::Temperature{1e30},
      stages::Penalties{.last_n = 8, .repeat = 1e-30, .frequency = huge, .presence = -huge},
      stages::DynamicTemperature{.t = 1, .delta = 2, .exponent = -5},
      stages::Typical{.p = 0, .min_keep = 0}, stages::TopNSigma{1e30},
      stages::Xtc{.probability = 1, .threshold = 0, .min_keep = 0},
      stages::TopP{.p = -1, .min_keep = 0}, stages::MinP{.p = 1e30, .min_keep = 0},
      stages::LogitBias{.biases = {{0, huge}, {1, huge}}});
  for (StagePtr& stage : extremes) {
    CAPTURE(stage->name());
    std::vector<StagePtr> chain;
    chain.push_back(std::move(stage));
    Sampler sampler(std::move(chain), 5);
    for (const TokenId id : {0, 1, 1, 2, 3}) sampler.accept(id);
    const TokenId id = sampler.sample(logits);
    CHECK(id >= 0);
    CHECK(id < 3);
  }
}

TEST_CASE("stages check their parameters") {
  CHECK_THROWS_WITH_AS(make(stages::TopP{.p = kNan}),
                       "sampler stage 'top_p': p must be a finite number, got nan", ValueError);
  CHECK_THROWS_AS(make(stages::Temperature{.t = kInf}), ValueError);
  CHECK_THROWS_AS(make(stages::Penalties{.last_n = 64, .repeat = 0}), ValueError);
  CHECK_THROWS_AS(make(stages::LogitBias{.biases = {{1, kInf}}}), ValueError);
  CHECK_THROWS_WITH_AS(make(stages::LogitBias{.biases = {{-1, 0}}}),
                       "sampler stage 'logit_bias': -1 is not a token id", ValueError);
  CHECK_THROWS_AS(make(stages::Dry{.breakers = {-1}}), ValueError);
  CHECK_THROWS_AS(make(stages::Mirostat2{.tau = -1}), ValueError);
  Sampler all_banned(chain_of(stages::LogitBias{.biases = {{0, -kInf}, {1, -kInf}}}), 0);
  CHECK_THROWS_AS(all_banned.sample(std::vector<float>{1, 2}), ValueError);
}

TEST_CASE("mirostat steers the surprise towards its target") {
  // 256 tokens whose probabilities fall by Zipf's law.
  std::vector<float> logits;
  for (int i = 0; i < 256; ++i) logits.push_back(-1.2F * std::log(1.0F + static_cast<float>(i)));
  for (const int version : {1, 2}) {
    CAPTURE(version);
    Sampler sampler(version == 1 ? chain_of(stages::Mirostat1{.tau = 3, .eta = 0.1})
                                 : chain_of(stages::Mirostat2{.tau = 3, .eta = 0.1}),
                    5);
    double surprise = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      const TokenId id = sampler.sample(logits);
      for (const Candidate& c : sampler.candidates())
        if (c.id == id) surprise -= std::log2(static_cast<double>(c.p));
      sampler.accept(id);
    }
    // mu stays bounded, so that the mean error is below its range / (eta n).
    CHECK(std::abs(surprise / kDraws - 3) < 20 / (0.1 * kDraws));
  }
}

TEST_CASE("adaptive-p draws near its target, tail-free cuts the flat tail") {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  Sampler sampler(chain_of(stages::AdaptiveP{.target = 0.15, .decay = 0.9}), 5);
  std::vector<int> count(4);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    const TokenId id = sampler.sample(logits);
    sampler.accept(id);
    ++count[static_cast<std::size_t>(id)];
    sum += std::exp(static_cast<double>(logits[static_cast<std::size_t>(id)]));
  }
  CHECK(count[2] > count[0]);
  CHECK(std::abs(sum / 4000 - 0.15) < 0.1);
  // Second differences of .5 .3 .15 .05: .05 .05, so that all of the bend is seen at the second.
  CHECK(survivors(stages::TailFree{.z = 0.6}, logits) == Ids{0});
  CHECK(survivors(stages::TailFree{.z = 1}, logits).size() == 4);
}

TEST_CASE("chains keep the order they are given") {
  SamplerOptions options;
  options.order = {"temperature", "top_k"};
  options.logit_bias = {{3, -1.5F}};
  std::vector<std::string> names;
  for (const StagePtr& stage : sampler_chain(options)) names.emplace_back(stage->name());
  CHECK(names == std::vector<std::string>{"logit_bias", "temperature", "top_k"});
  options.order.emplace();
  CHECK(sampler_chain(options).size() == 1);  // the bias
  options.order = {"top_q"};
  CHECK_THROWS_WITH_AS(sampler_order(*options.order),
                       doctest::Contains("unknown sampler 'top_q' (known: penalties, dry, "),
                       UnsupportedError);
  CHECK_THROWS_AS(sampler_chain(options), UnsupportedError);
  CHECK_THROWS_AS(sampler_order(std::vector<std::string>{""}), UnsupportedError);
  const std::vector<std::string> others{"typical_p", "typ", "tfs_z", "nucleus", "temp", "top-k"};
  CHECK(sampler_order(others) ==
        std::vector<std::string>{"typ_p", "typ_p", "tail_free", "top_p", "temperature", "top_k"});
  CHECK(sampler_order(kSamplerOrder) == kSamplerOrder);
  CHECK(is_sampler("top-k"));
  CHECK_FALSE(is_sampler("kt"));
  CHECK(sampler_order_of_letters("kt") == std::vector<std::string>{"top_k", "temperature"});
  CHECK(sampler_order_of_letters("edskypmxta").size() == 10);
  CHECK(sampler_order_of_letters("").empty());
  CHECK_THROWS_WITH_AS(
      sampler_order_of_letters("kit"),
      doctest::Contains("unknown sampler 'i' in 'kit' (known letters: e penalties"),
      UnsupportedError);
  const std::vector<float> logits = {0, std::log(3.0F)};
  CHECK(most_likely(logits, 1)[0].id == 1);
  CHECK(most_likely(logits, 5)[1].logprob == doctest::Approx(std::log(0.25)));
  CHECK(logprob(logits, 1) == doctest::Approx(std::log(0.75)));
}

int whole(double value) {
  return static_cast<int>(value);
}

// A stage of golden/samplers/samplers.json, whose parameters are numbers in a fixed order.
StagePtr stage_from(const std::string& name, const std::vector<double>& p) {
  const auto min_keep = [&] { return static_cast<std::size_t>(p.at(p.size() - 1)); };
  if (name == "penalties")
    return make(stages::Penalties{whole(p.at(0)), p.at(1), p.at(2), p.at(3)});
  if (name == "temp") return make(stages::Temperature{p.at(0)});
  if (name == "temp_ext") return make(stages::DynamicTemperature{p.at(0), p.at(1), p.at(2)});
  if (name == "top_k") return make(stages::TopK{whole(p.at(0))});
  if (name == "top_p") return make(stages::TopP{p.at(0), min_keep()});
  if (name == "min_p") return make(stages::MinP{p.at(0), min_keep()});
  if (name == "typical") return make(stages::Typical{p.at(0), min_keep()});
  if (name == "top_n_sigma") return make(stages::TopNSigma{p.at(0)});
  if (name == "xtc") return make(stages::Xtc{p.at(0), p.at(1), min_keep()});
  if (name == "dry") {
    stages::Dry dry{p.at(0), p.at(1), whole(p.at(2)), whole(p.at(3)), {}};
    for (std::size_t i = 4; i < p.size(); ++i) dry.breakers.push_back(whole(p[i]));
    return make(dry);
  }
  REQUIRE(name == "logit_bias");
  stages::LogitBias bias;
  for (std::size_t i = 0; i < p.size(); i += 2) bias.biases.emplace_back(whole(p[i]), p.at(i + 1));
  return make(bias);
}

// One case of golden/samplers/samplers.json: the survivors and their probabilities.
void check_case(const nlohmann::json& c, std::span<const float> logits) {
  std::vector<StagePtr> chain;
  for (const auto& stage : c.at("stages"))
    chain.push_back(stage_from(stage.at("name"), stage.at("params").get<std::vector<double>>()));
  CAPTURE(c.at("stages").dump());
  Sampler sampler(std::move(chain), 0);
  for (const TokenId id : c.value("history", std::vector<TokenId>{})) sampler.accept(id);
  sampler.sample(logits);
  CHECK(sampler.candidates().size() == c.at("n").get<std::size_t>());

  std::vector<float> sorted;
  std::vector<float> p(logits.size(), -1);
  std::vector<float> changed(logits.size(), 0);
  for (const Candidate& candidate : sampler.candidates()) {
    sorted.push_back(candidate.p);
    p[static_cast<std::size_t>(candidate.id)] = candidate.p;
    changed[static_cast<std::size_t>(candidate.id)] = candidate.logit;
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto ids = c.contains("ids") ? c.at("ids") : c.at("ids_top");
  const auto probs = c.contains("probs") ? c.at("probs") : c.at("probs_top");
  REQUIRE(sorted.size() >= probs.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CAPTURE(i);
    const auto id = ids[i].get<std::size_t>();
    CHECK(std::abs(sorted[i] - probs[i].get<float>()) < 1e-5F);
    // Which of equally likely tokens survive is not defined.
    if (std::count(logits.begin(), logits.end(), logits[id]) == 1)
      CHECK(std::abs(p[id] - probs[i].get<float>()) < 1e-5F);
  }
  for (const auto& pair : c.value("changed_logits", nlohmann::json::array())) {
    // The file has eight significant digits.
    const float expected = pair[1].get<float>();
    CHECK(std::abs(changed[pair[0].get<std::size_t>()] - expected) <=
          1e-6F * std::max(1.0F, std::abs(expected)));
  }
}

// If a probability is 0 in float arithmetic, the entropy of the reference's "typical" is not a
// number.
bool comparable(const nlohmann::json& c, std::span<const float> logits) {
  const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
  const bool underflows = std::exp(*low - *high) == 0.0F;
  return std::none_of(
      c.at("stages").begin(), c.at("stages").end(),
      [&](const nlohmann::json& stage) { return stage.at("name") == "typical" && underflows; });
}

TEST_CASE("stages agree with the reference samplers") {
  const auto dir = test::reference("golden/samplers");
  if (!dir) return;
  const auto bytes = test::read_bytes(*dir / "samplers.json");
  const auto golden =
      nlohmann::json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const std::vector<float> logits = test::read_npy_f32(*dir / "logits.npy");
  const auto width = golden.at("vocab").get<std::size_t>();
  int n_checked = 0;
  int n_left_out = 0;
  for (const auto& c : golden.at("cases")) {
    const auto row = c.at("row").get<std::size_t>();
    const auto row_logits = std::span(logits).subspan(row * width, width);
    if (!comparable(c, row_logits)) {
      ++n_left_out;
      continue;
    }
    CAPTURE(row);
    check_case(c, row_logits);
    ++n_checked;
  }
  MESSAGE(n_checked << " cases checked, " << n_left_out << " left out");
}

}  // namespace
}  // namespace weft
