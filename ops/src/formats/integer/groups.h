#pragma once
// Transposes the weights of a row into lanes: lane s holds kSize of them from s * kSize on.

#include <algorithm>
#include <cmath>
#include <vector>

#include "formats/integer/fit.h"

namespace weft::formats {

// Numbers beyond the range of a format (`limit`) are clamped to it, so that squares stay finite.
template <class G>
WEFT_LANES inline void load_group(const float* x, const float* weights, float limit, G& g) {
  constexpr int kSize = G::kCount;
  for (int s = 0; s < kLanes; ++s) {
    for (int i = 0; i < kSize; ++i) {
      reinterpret_cast<float*>(&g.x[i])[s] = x[s * kSize + i];
      if constexpr (G::kWeighted) reinterpret_cast<float*>(&g.w[i])[s] = weights[s * kSize + i];
    }
  }
  for (int i = 0; i < kSize; ++i)
    g.x[i] = min_lanes(max_lanes(g.x[i], all_lanes(-limit)), all_lanes(limit));
}

// Importances of a row as weights around 1. None is zero, so that unimportant columns are fitted,
// too.
inline std::vector<float> weights_of(const float* importance, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += importance[i];
  const double mean = sum / static_cast<double>(n);
  std::vector<float> weights(static_cast<std::size_t>(n), 1.0f);
  if (!(mean > 0)) return weights;
  for (std::int64_t i = 0; i < n; ++i)
    weights[static_cast<std::size_t>(i)] = static_cast<float>(importance[i] / mean) + 1e-6f;
  return weights;
}

// Calls f(weights in, their importances, elements that count) for batches of kElems of a row; the
// last one is filled up with zeros. `weights` may be null.
template <int kElems, class F>
void each_batch(const float* in, const float* weights, std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kElems <= n; i += kElems) f(in + i, weights ? weights + i : nullptr, kElems);
  if (i == n) return;
  float x[kElems] = {}, w[kElems];
  std::copy(in + i, in + n, x);
  std::fill(w, w + kElems, 1.0f);
  if (weights) std::copy(weights + i, weights + n, w);
  f(x, w, static_cast<int>(n - i));
}

}  // namespace weft::formats
