#pragma once
// Helpers for tests of sessions with tiny models.

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"

#include "support/error_text.h"

namespace weft::test {

// `n` token ids below the tiny models' vocabulary of 50.
inline std::vector<std::int32_t> some_tokens(std::size_t n, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> ids(n);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % 50);
  return ids;
}

// Logits of all tokens, fed to a sequence in steps of `chunk`.
inline std::vector<float> all_logits(Session& session, std::span<const std::int32_t> ids,
                                     std::size_t chunk, std::int32_t sequence = 0) {
  std::vector<float> out;
  for (std::size_t i = 0; i < ids.size(); i += chunk) {
    std::vector<StepToken> step;
    for (std::size_t k = i; k < std::min(i + chunk, ids.size()); ++k) {
      step.push_back({.token = ids[k], .sequence = sequence, .logits = true});
    }
    const std::span<const float> rows = session.step(step);
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace weft::test
