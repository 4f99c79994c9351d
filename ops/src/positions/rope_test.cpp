#include "weft/ops/positions/rope.h"

#include "weft/ops/positions/rope_angles.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("rope: a quarter turn, by hand, in both pairings") {
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    Graph g;
    const Tensor angles = g.input("angles", {f32, {1, 4}});
    g.output("y", rope(g.input("x", {f32, {1, 2, 5}}), angles, pairs));
    Evaluator eval(g, kPadded);
    eval.floats("x", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    eval.floats("angles", {0, 1, 1, 0}).run();  // pair 0 turns by 90 degrees, pair 1 stays
    const Floats adjacent{-2, 1, 3, 4, 5, -7, 6, 8, 9, 10}, halves{-3, 2, 1, 4, 5, -8, 7, 6, 9, 10};
    CHECK(eval.floats("y") == (pairs == RopePairs::adjacent ? adjacent : halves));
  }
}

struct Rotated {
  Floats x, y;
};
Rotated rotate(std::int32_t pos, RopePairs pairs) {
  Graph g;
  const Tensor angles = rope_angles(g.input("pos", {i32, {1}}), {.n_rot = 8});
  g.output("y", rope(g.input("x", {f32, {1, 3, 8}}), angles, pairs));
  Evaluator eval(g, kPadded);
  eval.floats("x", noise(24, 7)).ints("pos", {pos}).run();
  return {eval.floats("x"), eval.floats("y")};
}

TEST_CASE("rope: position 0 changes nothing") {
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    const auto [x, y] = rotate(0, pairs);
    CHECK(x == y);
  }
}

TEST_CASE("rope: keeps the norm of every pair, and dot products depend only on the distance") {
  const auto dot = [](const Floats& a, const Floats& b) {
    double sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  };
  // 8 values rotated in f32: each is off by up to two roundings of magnitudes below 2.
  const double tolerance = 8 * 2 * 2 * 2 * 0x1p-23;
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    const Rotated at3 = rotate(3, pairs), at5 = rotate(5, pairs), at1003 = rotate(1003, pairs),
                  at1005 = rotate(1005, pairs);
    CHECK(std::fabs(dot(at3.y, at3.y) - dot(at3.x, at3.x)) < tolerance);
    CHECK(std::fabs(dot(at3.y, at5.y) - dot(at1003.y, at1005.y)) < tolerance);
  }
}

TEST_CASE("rope: runs in place, and dimensions that are not rotated are exact") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 2, 6}}), angles = g.input("angles", {f32, {2, 4}});
  const Tensor y = rope(x, angles, RopePairs::halves);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.floats("x", noise(24, 1)).floats("angles", noise(8, 2)).run();
  const Floats bounds = eval.bounds("y");
  CHECK(bounds[4] == 0);
  CHECK(bounds[0] > 0);
  kRope.reference(g[y.id()].attrs, eval.inputs(y.id()), eval.view(x.id()));
  CHECK(eval.floats("x") == eval.floats("y"));
}

TEST_CASE("rope: invalid arguments") {
  const RopeApplyAttrs attrs;
  const TensorSpec x{f32, {2, 3, 8}}, angles{f32, {2, 8}};
  CHECK(refusal(kRope, attrs, {{f16, {2, 3, 8}}, angles}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kRope, attrs, {{f32, {2, 24}}, angles}) ==
        "ShapeError: x must be [T, H, E], got [2, 24]");
  CHECK(refusal(kRope, attrs, {x, {i32, {2, 8}}}) == "DTypeError: angles must be F32, got I32");
  CHECK(refusal(kRope, attrs, {x, {f32, {2, 10}}}) ==
        "ShapeError: angles must be [2, R] with R even and at most 8, got [2, 10]");
  CHECK(refusal(kRope, attrs, {x, {f32, {2, 7}}}) ==
        "ShapeError: angles must be [2, R] with R even and at most 8, got [2, 7]");
  CHECK(refusal(kRope, attrs, {x, {f32, {1, 8}}}) ==
        "ShapeError: angles must be [2, R] with R even and at most 8, got [1, 8]");
}

}  // namespace
}  // namespace weft
