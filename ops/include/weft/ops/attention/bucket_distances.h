#pragma once
// The rows of a table of buckets for every distance d = -r .. r between a key and a token, with
// r = max_distance: the `distances` of biased_attention. Near distances have a bucket each, farther
// ones share buckets that grow exponentially:
//   y[r + d, h] = table[bucket(d), h]
//   bucket(d) = f(max(-d, 0))                               if only earlier keys are seen
//   bucket(d) = f(|d|) + (d > 0 ? N : 0)                    if keys are seen both ways
//   f(n) = n if n < m, else min(N - 1, m + floor((N - m) ln(n / m) / ln(max_distance / m)))
//   with N = B, or B / 2 both ways, and m = floor(N / 2), 1 <= m < max_distance
//   table [B, H] any format     y [2 r + 1, H] f32
// Quotients of logarithms that are whole numbers up to rounding count as whole.
// Source: Raffel et al. 2019, arXiv:1910.10683, and its published code (relative_position_bucket).

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct BucketAttrs {
  std::int32_t max_distance = 128;
  bool both_ways = false;
  static constexpr auto fields() {
    return std::tuple{field("max_distance", &BucketAttrs::max_distance),
                      field("both_ways", &BucketAttrs::both_ways)};
  }
};

// bucket(d) for a table of `n_buckets` rows that fits `attrs`, |d| <= max_distance.
std::int64_t distance_bucket(const BucketAttrs& attrs, std::int64_t n_buckets, std::int64_t d);

extern const OpDef kBucketDistances;  // inputs: table
Tensor bucket_distances(Tensor table, const BucketAttrs& attrs,
                        SourceLine where = std::source_location::current());

}  // namespace weft
