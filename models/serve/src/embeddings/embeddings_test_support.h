#pragma once
// Texts, and what embeddings of them are by definition, for tests.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

#include "weft/serve/embeddings.h"

namespace weft::test {

using Ids = std::vector<TokenId>;
using Texts = std::vector<TypedTokens>;

inline Ids text(int i, int n) {
  Ids ids;
  for (int t = 0; t < n; ++t) ids.push_back((7 * i + t * t + 3 * t) % 50);
  return ids;
}

inline Texts texts_of(std::initializer_list<int> lengths) {
  Texts texts;
  for (const int n : lengths) texts.push_back(text(static_cast<int>(texts.size()), n));
  return texts;
}

// The last hidden states of a text alone, row by row.
inline std::vector<float> rows_of(const std::shared_ptr<const Model>& model, const Ids& ids) {
  Session session(model, {.context = 256,
                          .logits_rows = std::ssize(ids),
                          .cache_k = f32,
                          .cache_v = f32,
                          .embeddings = true});
  std::vector<StepToken> step;
  for (const TokenId id : ids) step.push_back({.token = id, .logits = true});
  const auto rows = session.step(step);
  return {rows.begin(), rows.end()};
}

// By definition, in double precision; poolings are concatenated.
inline std::vector<float> pooled(const std::vector<float>& rows, const Poolings& poolings) {
  constexpr std::size_t kWidth = 64;
  if (poolings == Pooling::none) return rows;
  const std::size_t n = rows.size() / kWidth;
  std::vector<float> all;
  for (const Pooling pooling : poolings.modes()) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      double sum = 0, weighted = 0, max = rows[j];
      for (std::size_t t = 0; t < n; ++t) {
        const double v = rows[t * kWidth + j];
        sum += v;
        weighted += v * static_cast<double>(t + 1);
        max = std::max(max, v);
      }
      const auto count = static_cast<double>(n);
      const std::map<Pooling, double> results = {
          {Pooling::cls, rows[j]},
          {Pooling::last, rows[(n - 1) * kWidth + j]},
          {Pooling::mean, sum / count},
          {Pooling::max, max},
          {Pooling::mean_sqrt_len, sum / std::sqrt(count)},
          {Pooling::weighted_mean, weighted / (count * (count + 1) / 2)}};
      all.push_back(static_cast<float>(results.at(pooling)));
    }
  }
  return all;
}

inline EmbedderOptions plain(const Poolings& pooling) {
  return {.pooling = pooling, .norm = kNotNormalized, .session = {.context = 256}};
}

}  // namespace weft::test
