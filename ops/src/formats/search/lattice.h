#pragma once
// Nearest points of a grid (weft/ops/formats/iq_grids.h) by weighted squared distance, found
// exactly.
//
// A point's cost is a sum over its coordinates; every value of a coordinate has its own cost.
// Coordinates are divided into two halves. All sums of a half are few (81 or 64) and computed
// first, relative to their minimum. Points that share a first half are listed together, so that
// all of them are skipped if the half alone costs as much as the best point so far.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/iq_grids.h"

namespace weft::formats {

template <std::size_t kDimsOf, std::size_t kValuesOf, std::size_t kPointsOf>
class Lattice {
 public:
  static constexpr int kDims = kDimsOf, kValues = kValuesOf, kPoints = kPointsOf;
  using Costs = float[kDims][kValues];  // [i][v]: the cost of value v for coordinate i

  Lattice(const Grid<kDimsOf, kPointsOf>& grid, const std::array<std::int8_t, kValuesOf>& values)
      : grid_(grid), values_(values) {
    for (int p = 0; p < kPoints; ++p) ++first_[half(p, 0) + 1];
    for (int h = 0; h < kHalves; ++h)
      first_[h + 1] = static_cast<std::uint16_t>(first_[h + 1] + first_[h]);
    for (int p = 0; p < kPoints; ++p)
      at_[half(p, 0) + kHalves * half(p, kDims / 2)] = static_cast<std::uint16_t>(p + 1);
    std::uint16_t filled[kHalves] = {};
    for (int p = 0; p < kPoints; ++p) {
      const int h = half(p, 0);
      entries_[first_[h] + filled[h]++] = {static_cast<std::uint16_t>(p),
                                           static_cast<std::uint16_t>(half(p, kDims / 2))};
    }
  }

  const GridPoint<kDimsOf>& point(int index) const {
    return grid_[static_cast<std::size_t>(index)];
  }
  const std::array<std::int8_t, kValuesOf>& values() const { return values_; }

  // The index of the point of minimum cost; the first one in the lists if there are several.
  // Changes `costs`.
  int nearest(Costs& costs) const {
    int cell = 0;
    for (int i = kDims - 1; i >= 0; --i) cell = cell * kValues + lower(costs[i]);
    if (at_[cell] != 0) return at_[cell] - 1;
    float low[kHalves], high[kHalves];
    sums<0, 1>(costs, low);
    sums<0, 1>(costs + kDims / 2, high);
    const int start = cell % kHalves;
    int best = 0;
    float limit = HUGE_VALF;
    const auto scan = [&](int h) {
      for (int e = first_[h]; e < first_[h + 1]; ++e) {
        const float cost = low[h] + high[entries_[e].high];
        if (cost < limit) {
          limit = cost;
          best = entries_[e].point;
        }
      }
    };
    scan(start);
    for (int h = 0; h < kHalves; ++h) {
      if (low[h] < limit && h != start) scan(h);
    }
    return best;
  }

 private:
  static constexpr int power(int base, int n) { return n == 0 ? 1 : base * power(base, n - 1); }
  static constexpr int kHalves = power(kValues, kDims / 2);
  struct Entry {
    std::uint16_t point, high;
  };

  // Which half the coordinates from `first` on are.
  int half(int p, int first) const {
    int h = 0;
    for (int i = kDims / 2 - 1; i >= 0; --i) {
      const auto v =
          std::find(values_.begin(), values_.end(), point(p)[static_cast<std::size_t>(first + i)]);
      h = h * kValues + static_cast<int>(v - values_.begin());
    }
    return h;
  }

  // Subtracts the minimum of a coordinate's costs from all of them; returns its index.
  static int lower(float (&costs)[kValues]) {
    int best = 0;
    for (int v = 1; v < kValues; ++v) best = costs[v] < costs[best] ? v : best;
    const float cost = costs[best];
    for (float& c : costs) c -= cost;
    return best;
  }

  // The sums of all halves.
  template <int kFrom, int kCount>
  static void sums(const float (*costs)[kValues], float* out) {
    if constexpr (kFrom == 0) out[0] = 0;
    if constexpr (kFrom < kDims / 2) {
      for (int v = kValues - 1; v >= 0; --v) {
        for (int h = 0; h < kCount; ++h) out[v * kCount + h] = out[h] + costs[kFrom][v];
      }
      sums<kFrom + 1, kCount * kValues>(costs, out);
    }
  }

  const Grid<kDimsOf, kPointsOf>& grid_;
  std::array<std::int8_t, kValuesOf> values_;
  std::uint16_t at_[kHalves * kHalves] = {};  // 1 + the point made of two halves, or 0
  std::uint16_t first_[kHalves + 1] = {};
  Entry entries_[kPoints] = {};
};

// The sums for the least squares of a scale: with values g to be multiplied by a scale s, the error
// is sum w (x - s g)^2 = sum w x^2 - 2 s gx + s^2 gg.
struct Sums {
  double gg = 0, gx = 0;
  double scale() const { return gg > 0 ? gx / gg : 0; }
  double error(double s) const { return s * (s * gg - 2 * gx); }  // less sum w x^2
  void add(double weight, double g, double x) {
    gg += weight * g * g;
    gx += weight * g * x;
  }
  Sums& operator+=(const Sums& other) {
    gg += other.gg;
    gx += other.gx;
    return *this;
  }
};

// Eight weights as magnitudes of a grid and signs.
struct Eight {
  std::uint16_t point[2] = {};  // the second one in grids of 4 coordinates
  std::uint8_t signs = 0;       // bit i: weight i is negative
};

// Codes for 8 values at a scale > 0. With kEven, the number of negative weights must be even, so
// the least important sign may be wrong.
template <bool kEven, class L>
Sums quantize_eight(const L& lattice, const float* x, const float* w, float scale, Eight& code) {
  float magnitude[8];
  unsigned signs = 0;
  for (int i = 0; i < 8; ++i) {
    magnitude[i] = std::fabs(x[i]);
    signs |= static_cast<unsigned>(x[i] < 0) << i;
  }
  if (kEven && even_signs(signs & 127) != signs) {
    int flip = 0;
    for (int i = 1; i < 8; ++i) {
      if (w[i] * magnitude[i] < w[flip] * magnitude[flip]) flip = i;
    }
    magnitude[flip] = -magnitude[flip];
    signs ^= 1u << flip;
  }
  code.signs = static_cast<std::uint8_t>(signs);
  Sums sums;
  for (int first = 0, n = 0; first < 8; first += L::kDims, ++n) {
    typename L::Costs costs;
    for (int i = 0; i < L::kDims; ++i) {
      const float a = magnitude[first + i], weight = w[first + i];
      for (int v = 0; v < L::kValues; ++v) {
        const float g = scale * static_cast<float>(lattice.values()[static_cast<std::size_t>(v)]);
        costs[i][v] = weight * g * (g - 2 * a);
      }
    }
    const int p = lattice.nearest(costs);
    code.point[n] = static_cast<std::uint16_t>(p);
    for (int i = 0; i < L::kDims; ++i)
      sums.add(w[first + i], lattice.point(p)[static_cast<std::size_t>(i)], magnitude[first + i]);
  }
  return sums;
}

}  // namespace weft::formats
