#include "weft/ops/attention/bucket_distances.h"

#include <numeric>

#include "weft/ops/formats/q8_0.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

// The bucket of every distance -max_distance .. max_distance.
Floats buckets(std::int64_t n, const BucketAttrs& attrs) {
  Graph g;
  g.output("y", bucket_distances(g.weight("table", {f32, {n, 1}}), attrs));
  Floats numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  Evaluator eval(g, kPadded);
  eval.floats("table", numbers).run();
  return eval.floats("y");
}

TEST_CASE("bucket_distances: the buckets of T5's encoder") {
  const Floats y = buckets(32, {.max_distance = 128, .both_ways = true});
  REQUIRE(y.size() == 257);
  const auto at = [&](std::int64_t d) { return y[static_cast<std::size_t>(128 + d)]; };
  CHECK(at(0) == 0);
  for (std::int64_t d = 1; d < 8; ++d) {
    CHECK(at(-d) == static_cast<float>(d));
    CHECK(at(d) == static_cast<float>(16 + d));
  }
  // From 8 on, the ends of buckets grow by the square root of 2: 8, 11.3, 16, ..
  const std::pair<std::int64_t, float> far[] = {
      {8, 8},   {11, 8},  {12, 9},  {15, 9},  {16, 10}, {22, 10}, {23, 11},  {31, 11}, {32, 12},
      {45, 12}, {46, 13}, {63, 13}, {64, 14}, {90, 14}, {91, 15}, {127, 15}, {128, 15}};
  for (const auto& [d, bucket] : far) {
    CAPTURE(d);
    CHECK(at(-d) == bucket);
    CHECK(at(d) == 16 + bucket);
  }
}

TEST_CASE("bucket_distances: the buckets of T5's decoder see no later keys") {
  const Floats y = buckets(32, {.max_distance = 128});
  const auto at = [&](std::int64_t d) { return y[static_cast<std::size_t>(128 + d)]; };
  for (std::int64_t d = 0; d <= 128; ++d) CHECK(at(d) == 0);
  for (std::int64_t d = 1; d < 16; ++d) CHECK(at(-d) == static_cast<float>(d));
  const std::pair<std::int64_t, float> far[] = {{16, 16},  {18, 16}, {19, 17}, {20, 17},
                                                {21, 18},  {26, 19}, {27, 20}, {112, 30},
                                                {113, 31}, {128, 31}};
  for (const auto& [d, bucket] : far) {
    CAPTURE(d);
    CHECK(at(-d) == bucket);
  }
}

TEST_CASE("bucket_distances: the smallest tables") {
  CHECK(buckets(2, {.max_distance = 2}) == Floats{1, 1, 0, 0, 0});
  CHECK(buckets(4, {.max_distance = 2, .both_ways = true}) == Floats{1, 1, 0, 3, 3});
}

TEST_CASE("bucket_distances: whole rows of any format, each head its own") {
  for (const DType dtype : {f16, q8_0}) {
    CAPTURE(dtype.name());
    Graph g;
    g.output("y", bucket_distances(g.weight("table", {dtype, {4, 32}}), {.max_distance = 3}));
    Evaluator eval(g, kPadded);
    eval.floats("table", noise(128, 3)).run();
    const Floats table = eval.floats("table"), y = eval.floats("y");
    REQUIRE(y.size() == 7 * 32);
    CHECK(std::equal(y.begin(), y.begin() + 32, table.begin() + 96));
    CHECK(std::equal(y.begin() + 64, y.begin() + 96, table.begin() + 32));
    CHECK(std::equal(y.end() - 32, y.end(), table.begin()));
  }
}

TEST_CASE("bucket_distances: invalid arguments") {
  const auto refused = [](const BucketAttrs& attrs, const TensorSpec& table) {
    return refusal(kBucketDistances, attrs, {table});
  };
  CHECK(refused({}, {i32, {32, 2}}) == "DTypeError: table must have a type with a codec, got I32");
  CHECK(refused({}, {f32, {32}}) == "ShapeError: table must be [B, H], got [32]");
  CHECK(refused({.max_distance = 1}, {f32, {32, 2}}) ==
        "ValueError: max_distance must be 2..1048576, got 1");
  CHECK(refused({.max_distance = 4}, {f32, {1, 2}}) ==
        "ShapeError: table must be [B, H] with B from 2 to 7, got [1, 2]");
  CHECK(refused({.max_distance = 4}, {f32, {7, 2}}) == "accepted");
  CHECK(refused({.max_distance = 4}, {f32, {8, 2}}) ==
        "ShapeError: table must be [B, H] with B from 2 to 7, got [8, 2]");
  CHECK(refused({.max_distance = 4, .both_ways = true}, {f32, {5, 2}}) ==
        "ShapeError: table must be [B, H] with B even, from 4 to 14, got [5, 2]");
}

}  // namespace
}  // namespace weft
