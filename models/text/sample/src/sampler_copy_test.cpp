// Copies of samplers, as forks of a text have them.
#include <doctest/doctest.h>

#include "weft/sample/sampler.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;

// One choice after another, each from logits of its own.
Ids choose(Sampler& sampler, std::uint64_t from, int n) {
  Random random(from);
  Ids chosen;
  for (int i = 0; i < n; ++i) {
    std::vector<float> logits(60);
    for (float& x : logits) x = static_cast<float>(6 * random.uniform());
    chosen.push_back(sampler.sample(logits));
    sampler.accept(chosen.back());
  }
  return chosen;
}

TEST_CASE("a copy continues like its original, and both independently") {
  const SamplerOptions plain{.seed = 3, .top_k = 0, .top_p = 1, .min_p = 0, .temperature = 1};
  std::vector<SamplerOptions> all(7, plain);
  all[1].mirostat = 1;
  all[2].mirostat = 2;
  all[3].adaptive_target = 0.02F;
  all[4].repeat_penalty = 3.0F;
  all[4].penalty_last_n = 20;
  all[5].dry_multiplier = 5;
  all[5].dry_allowed_length = 0;
  all[6].xtc_probability = 0.5F;
  all[6].xtc_threshold = 0.02F;
  for (const SamplerOptions& options : all) {
    CAPTURE(&options - all.data());
    Sampler original(options);
    choose(original, 1, 50);
    Sampler copy = original;
    Sampler assigned;
    assigned = original;
    Sampler moved = std::move(assigned);
    const Ids expected = choose(original, 2, 50);
    CHECK(choose(copy, 2, 50) == expected);
    CHECK(choose(moved, 2, 50) == expected);
    CHECK(choose(copy, 3, 50) == choose(original, 3, 50));
    Sampler begun(options);
    CHECK(choose(begun, 2, 50) != expected);  // earlier tokens and draws count
    copy.reset();
    begun.reset();
    CHECK(choose(copy, 2, 50) == choose(begun, 2, 50));
  }
}

TEST_CASE("a sampler with another seed keeps its text") {
  const SamplerOptions options{.seed = 3, .mirostat = 2};
  Sampler a(options), b(options);
  choose(a, 1, 50);
  choose(b, 1, 50);
  a.reseed(7);
  CHECK(choose(a, 2, 50) != choose(b, 2, 50));
  SamplerOptions other = options;
  other.seed = 7;
  Sampler fresh(other);
  a.reset();
  CHECK(choose(a, 2, 50) == choose(fresh, 2, 50));
  // Without draws, the most likely token shows which tokens were seen.
  const SamplerOptions greedy{.repeat_penalty = 100, .temperature = 0};
  Sampler seen(greedy), again(greedy);
  for (Sampler* sampler : {&seen, &again}) choose(*sampler, 1, 30);
  seen.reseed(9);
  CHECK(choose(seen, 2, 20) == choose(again, 2, 20));
}

}  // namespace
}  // namespace weft
