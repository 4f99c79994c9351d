#pragma once
// Least squares for groups of weights, one group per lane: the best scale (and minimum) for given
// codes, and a search among codes. All encoders that search use these functions.

#include <cfloat>

#include "formats/search/lanes.h"

namespace weft::formats {

// kSize weights per lane and how much an error counts. Unweighted, `w` is not looked at.
template <int kSize, bool kHasWeights>
struct Group {
  static constexpr int kCount = kSize;
  static constexpr bool kWeighted = kHasWeights;
  Floats x[kSize];
  Floats w[kSize];

  WEFT_LANES Floats weighted(int i, const Floats& value) const {
    if constexpr (kWeighted) {
      return w[i] * value;
    } else {
      return value;
    }
  }
  WEFT_LANES Floats total() const {
    if constexpr (!kWeighted) return all_lanes(static_cast<float>(kSize));
    Floats sum{};
    for (int i = 0; i < kSize; ++i) sum += w[i];
    return sum;
  }
};

// Spans and scales below this count as zero: no format can represent them, and inverses stay
// finite.
inline constexpr float kNothing = 0x1p-100f;

// steps / span, 0 if the span is 0.
WEFT_LANES inline Floats grid(const Floats& steps, const Floats& span) {
  const Floats safe = span > kNothing ? span : all_lanes(1);
  return span > kNothing ? steps / safe : all_lanes(0);
}

// Which grids are tried: those with `first`, `first` + `step`, ... steps over the span of a group.
struct Trials {
  float first, step;
  int count;
};

// x ~ scale * q - min, q in 0..kTop, scale >= 0.
struct Affine {
  Floats scale, min;
};

template <int kTop>
WEFT_LANES inline Floats affine_code(const Floats& x, const Affine& a, const Floats& inverse) {
  const Floats q = nearest_integer(min_lanes((x + a.min) * inverse, all_lanes(kTop + 1)));
  return min_lanes(max_lanes(q, all_lanes(0)), all_lanes(kTop));
}

template <int kTop, class G>
WEFT_LANES inline Floats affine_error(const G& g, const Affine& a) {
  const Floats inverse = grid(all_lanes(1), a.scale);
  Floats error{};
  for (int i = 0; i < G::kCount; ++i) {
    const Floats e = g.x[i] - (a.scale * affine_code<kTop>(g.x[i], a, inverse) - a.min);
    error += g.weighted(i, e * e);
  }
  return error;
}

// Sums over the codes q of a group, with y = x - low.
struct AffineSums {
  Floats q, qq, yq;
};

template <int kTop, class G>
WEFT_LANES inline AffineSums affine_sums(const G& g, const Floats& low, const Floats& shift,
                                         const Floats& inverse) {
  AffineSums s{};
  const Affine a{all_lanes(0), shift - low};
  for (int i = 0; i < G::kCount; ++i) {
    const Floats q = affine_code<kTop>(g.x[i], a, inverse);
    const Floats wq = g.weighted(i, q);
    s.q += wq;
    s.qq += wq * q;
    s.yq += wq * (g.x[i] - low);
  }
  return s;
}

// The scale and minimum with the smallest squared error, among grids that roughly span the values
// and the refinements of the best of them by alternating codes and least squares. With kPositiveMin
// the minimum is not negative.
template <int kTop, bool kPositiveMin, class G>
WEFT_LANES inline Affine fit_affine(const G& g, const Trials& trials, int turns) {
  Floats low = g.x[0], high = g.x[0];
  for (int i = 1; i < G::kCount; ++i) {
    low = min_lanes(low, g.x[i]);
    high = max_lanes(high, g.x[i]);
  }
  if constexpr (kPositiveMin) low = min_lanes(low, all_lanes(0));
  const Floats span = high - low, weight = g.total();
  Floats sy{};
  for (int i = 0; i < G::kCount; ++i) sy += g.weighted(i, g.x[i] - low);
  // y = x - low ~ scale * q + c. `gain` is the reduction of the squared error compared with 0.
  Floats best_scale = all_lanes(0), best_c = span > kNothing ? sy / weight : all_lanes(0);
  if constexpr (kPositiveMin) best_c = min_lanes(best_c, -low);
  Floats best_gain = best_c * (sy + sy - best_c * weight);
  const auto improve = [&](const Floats& shift, const Floats& inverse) WEFT_LANES {
    const AffineSums s = affine_sums<kTop>(g, low, shift, inverse);
    const Floats det = weight * s.qq - s.q * s.q;
    // If all codes are equal, only a minimum can be fitted, or a scale if that is fixed.
    Ints solvable = det > weight * s.qq * 0x1p-20f;
    const Floats safe = solvable ? det : all_lanes(1);
    Floats scale = solvable ? (weight * s.yq - sy * s.q) / safe : all_lanes(0);
    Floats c = (sy - scale * s.q) / weight;
    if constexpr (kPositiveMin) {  // min = -(low + c)
      const Ints bound = c > -low;
      const Floats some = s.qq > 0 ? s.qq : all_lanes(1);
      scale = bound ? (s.yq + low * s.q) / some : scale;
      c = bound ? -low : c;
      solvable |= bound & (s.qq > 0);
    }
    const Floats gain =
        scale * (s.yq + s.yq - scale * s.qq - (c + c) * s.q) + c * (sy + sy - c * weight);
    const Ints better = solvable & (scale > kNothing) & (gain > best_gain);
    best_gain = better ? gain : best_gain;
    best_scale = better ? scale : best_scale;
    best_c = better ? c : best_c;
  };
  for (int k = 0; k < trials.count; ++k) {
    const float steps = trials.first + trials.step * static_cast<float>(k);
    improve(all_lanes(0), grid(all_lanes(steps), span));
  }
  for (int turn = 0; turn < turns; ++turn) improve(-best_c, grid(all_lanes(1), best_scale));
  return {best_scale, -(low + best_c)};
}

// x ~ scale * q, q in kLow..kHigh.
template <int kLow, int kHigh>
WEFT_LANES inline Floats symmetric_code(const Floats& x, const Floats& inverse) {
  const Floats q = min_lanes(max_lanes(x * inverse, all_lanes(kLow)), all_lanes(kHigh));
  return nearest_integer(q);
}

// 1 / scale of either sign, 0 if the scale is 0.
WEFT_LANES inline Floats inverse_of(const Floats& scale) {
  const Ints some = magnitude(scale) > kNothing;
  const Floats safe = some ? scale : all_lanes(1);
  return some ? 1 / safe : all_lanes(0);
}

template <int kLow, int kHigh, class G>
WEFT_LANES inline Floats symmetric_error(const G& g, const Floats& scale) {
  const Floats inverse = inverse_of(scale);
  Floats error{};
  for (int i = 0; i < G::kCount; ++i) {
    const Floats e = g.x[i] - scale * symmetric_code<kLow, kHigh>(g.x[i], inverse);
    error += g.weighted(i, e * e);
  }
  return error;
}

// The scale with the smallest squared error, among grids that put the extreme value at
// trials.first, trials.first + trials.step ... and their negatives (codes reach further down than
// up), and the refinements of the best of them by alternating codes and least squares.
template <int kLow, int kHigh, class G>
WEFT_LANES inline Floats fit_symmetric(const G& g, const Trials& trials, int turns) {
  Floats extreme = g.x[0];
  for (int i = 1; i < G::kCount; ++i)
    extreme = magnitude(g.x[i]) > magnitude(extreme) ? g.x[i] : extreme;
  const Floats per_step = inverse_of(extreme);
  Floats best_scale = all_lanes(0), best_gain = all_lanes(0);
  const auto improve = [&](const Floats& inverse) WEFT_LANES {
    Floats xq{}, qq{};
    for (int i = 0; i < G::kCount; ++i) {
      const Floats q = symmetric_code<kLow, kHigh>(g.x[i], inverse);
      const Floats wq = g.weighted(i, q);
      xq += wq * g.x[i];
      qq += wq * q;
    }
    const Floats safe = qq > 0 ? qq : all_lanes(1);
    const Floats scale = xq / safe;
    const Floats gain = scale * xq;
    const Ints better = gain > best_gain;
    best_gain = better ? gain : best_gain;
    best_scale = better ? scale : best_scale;
  };
  for (int k = 0; k < trials.count; ++k) {
    const float end = trials.first + trials.step * static_cast<float>(k);
    improve(per_step * -end);
    improve(per_step * end);
  }
  for (int turn = 0; turn < turns; ++turn) improve(inverse_of(best_scale));
  return best_scale;
}

}  // namespace weft::formats
