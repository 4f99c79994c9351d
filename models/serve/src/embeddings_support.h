#pragma once
// Texts, and what embeddings of them are by definition, for tests.

#include <cstddef>
#include <initializer_list>
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

inline std::vector<float> pooled(const std::vector<float>& rows, Pooling pooling) {
  constexpr std::size_t kWidth = 64;
  const auto width = std::ptrdiff_t(kWidth);
  if (pooling == Pooling::none) return rows;
  if (pooling == Pooling::cls) return {rows.begin(), rows.begin() + width};
  if (pooling == Pooling::last) return {rows.end() - width, rows.end()};
  std::vector<float> mean;
  for (std::size_t j = 0; j < kWidth; ++j) {
    double sum = 0;
    for (std::size_t i = j; i < rows.size(); i += kWidth) sum += rows[i];
    mean.push_back(static_cast<float>(sum / (static_cast<double>(rows.size()) / kWidth)));
  }
  return mean;
}

inline EmbedderOptions plain(Pooling pooling) {
  return {.pooling = pooling, .norm = kNotNormalized, .session = {.context = 256}};
}

}  // namespace weft::test
