#include "weft/ops/projections/quantize.h"

#include <cstring>

#include "weft/ops/formats/q8a.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Q8ABlock encode(const Floats& x) {
  Q8ABlock block;
  kQ8AFormat.encode(x.data(), reinterpret_cast<std::byte*>(&block), 32);
  return block;
}

TEST_CASE("Q8A: scale, codes and their sums, by hand") {
  Floats x(32);
  x[0] = 254, x[1] = -254, x[2] = 5, x[3] = 3, x[4] = 1, x[5] = 2.5f, x[16] = -20;
  const Q8ABlock block = encode(x);
  CHECK(block.d == 2);
  CHECK(int{block.q[0]} == 127);
  CHECK(int{block.q[1]} == -127);
  CHECK(int{block.q[2]} == 2);  // 2.5, to even
  CHECK(int{block.q[3]} == 2);  // 1.5, to even
  CHECK(int{block.q[4]} == 0);  // 0.5, to even
  CHECK(int{block.q[5]} == 1);  // 1.25
  CHECK(block.dsum == 2 * (5 - 10));
  CHECK(block.start == -128 * (5 - 10));
  CHECK(block.start_low == -128 * 5);
  CHECK(block.start_high == -128 * -10);
}

TEST_CASE("Q8A: zeros, and values so small that the scale is subnormal") {
  CHECK(encode(Floats(32)).d == 0);
  for (const float amax : {0x1p-149f, 100 * 0x1p-149f, 180 * 0x1p-149f, 0x1p-130f, 1e38f}) {
    CAPTURE(amax);
    Floats x(32, amax), y(32);
    x[1] = -amax;
    const Q8ABlock block = encode(x);
    kQ8AFormat.decode(reinterpret_cast<const std::byte*>(&block), y.data(), 32);
    for (std::size_t i = 0; i < 32; ++i) {
      CHECK(std::fabs(static_cast<double>(x[i]) - y[i]) <= kQ8AFormat.max_error(amax));
    }
  }
}

TEST_CASE("Q8A: NaN and infinities do not become numbers") {
  Floats x(32, 1), y(32);
  SUBCASE("NaN first") {
    x[0] = NAN;
  }
  SUBCASE("NaN between") {
    x[9] = -NAN;
  }
  SUBCASE("NaN beside infinity") {
    x[3] = NAN, x[31] = INFINITY;
  }
  const Q8ABlock block = encode(x);
  CHECK(std::isnan(block.d));
  kQ8AFormat.decode(reinterpret_cast<const std::byte*>(&block), y.data(), 32);
  for (const float v : y) CHECK(std::isnan(v));

  CHECK(encode(Floats(32, -INFINITY)).d == INFINITY);
}

TEST_CASE("quantize: every row, within half a step, a reciprocal keeps within the bound") {
  Graph g;
  g.output("y", quantize(g.input("x", {f32, {3, 64}})));
  Floats x = noise(192, 9);
  x[7] = 0.5f, x[8] = 1;  // code 63.5, close to the middle
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  const Floats y = eval.floats("y");
  Floats other(192);
  for (std::size_t begin = 0; begin < 192; begin += 32) {
    float amax = 0;
    for (std::size_t i = begin; i < begin + 32; ++i) amax = std::max(amax, std::fabs(x[i]));
    const float inverse = 127 / amax;
    for (std::size_t i = begin; i < begin + 32; ++i) {
      CHECK(std::fabs(static_cast<double>(x[i]) - y[i]) <= kQ8AFormat.max_error(amax));
      other[i] = amax / 127 * std::nearbyint(x[i] * inverse);
    }
  }
  check_close(other, y, eval.bounds("y"));
}

TEST_CASE("quantize: invalid arguments") {
  CHECK(refusal(kQuantize, {}, {{f16, {2, 64}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kQuantize, {}, {{f32, {64}}}) == "ShapeError: x must be [T, .., K], got [64]");
  CHECK(refusal(kQuantize, {}, {{f32, {2, 33}}}) ==
        "ShapeError: x must be [T, .., K] with K a multiple of 32, got [2, 33]");
}

}  // namespace
}  // namespace weft
