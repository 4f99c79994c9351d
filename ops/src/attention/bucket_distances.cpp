#include "weft/ops/attention/bucket_distances.h"

#include <algorithm>
#include <cstdlib>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

constexpr std::int32_t kMaxDistance = 1 << 20;

// The buckets of one side: n_exact of them hold one distance each.
struct Side {
  std::int64_t n = 0, n_exact = 0, max_distance = 0;

  std::int64_t bucket(std::int64_t distance) const {
    if (distance < n_exact) return distance;
    const auto m = static_cast<double>(n_exact);
    const double share = std::log(static_cast<double>(distance) / m) /
                         std::log(static_cast<double>(max_distance) / m);
    const double step = std::floor(share * static_cast<double>(n - n_exact) + 1e-9);
    return std::min(n - 1, n_exact + static_cast<std::int64_t>(step));
  }
};

Side side_of(const BucketAttrs& a, std::int64_t n_buckets) {
  const std::int64_t n = a.both_ways ? n_buckets / 2 : n_buckets;
  return {.n = n, .n_exact = n / 2, .max_distance = a.max_distance};
}

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec& table = in[0];
  const auto& a = attrs.as<BucketAttrs>();
  expect_format("table", table);
  expect_form(table.shape.n_dims() == 2, "table", table, "[B, H]");
  if (a.max_distance < 2 || a.max_distance > kMaxDistance)
    fail<ValueError>("max_distance must be 2..{}, got {}", kMaxDistance, a.max_distance);
  const std::int64_t n = table.shape[0].bound;
  const Side side = side_of(a, n);
  const bool fits =
      side.n_exact >= 1 && side.n_exact < a.max_distance && (!a.both_ways || n % 2 == 0);
  expect_form(fits, "table", table, "[B, H] with B {}from {} to {}", a.both_ways ? "even, " : "",
              a.both_ways ? 4 : 2, (std::int64_t{a.max_distance} * 2 - 1) * (a.both_ways ? 2 : 1));
  return {f32, {2 * std::int64_t{a.max_distance} + 1, table.shape[1]}};
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<BucketAttrs>();
  RowReader rows(in[0]);
  for (std::int64_t i = 0; i < out.rows(); ++i) {
    const std::int64_t bucket = distance_bucket(a, in[0].rows(), i - a.max_distance);
    std::copy_n(rows[bucket], out.cols(), out.row<float>(i));
  }
}

constexpr OpInput kInputs[] = {{"table", Reach::all}};

}  // namespace

const OpDef kBucketDistances{.name = "bucket_distances",
                             .inputs = kInputs,
                             .attrs = &kAttrsType<BucketAttrs>,
                             .infer = infer,
                             .reference = reference,
                             .bound = exact,
                             .col_granule = last_dimension,
                             .splits_rows = false,
                             .cuts = {.whole = true}};

std::int64_t distance_bucket(const BucketAttrs& a, std::int64_t n_buckets, std::int64_t d) {
  const Side side = side_of(a, n_buckets);
  const std::int64_t far = a.both_ways ? std::abs(d) : std::max<std::int64_t>(-d, 0);
  return side.bucket(far) + (a.both_ways && d > 0 ? side.n : 0);
}

Tensor bucket_distances(Tensor table, const BucketAttrs& attrs, SourceLine where) {
  return add_node(kBucketDistances, {table}, attrs, where);
}

}  // namespace weft
