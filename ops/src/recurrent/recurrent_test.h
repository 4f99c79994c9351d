#pragma once
// Helpers for the tests of ops with a row of state per sequence.

#include "op_test.h"

namespace weft::test {

// Noise for tokens first .. first + n - 1, [n, width]: the same for a token in every step.
inline Floats token_noise(std::int64_t first, std::int64_t n, std::int64_t width,
                          std::uint32_t seed) {
  const Floats all = noise(static_cast<std::size_t>((first + n) * width), seed);
  return Floats(all.begin() + first * width, all.end());
}

// One step of 7 tokens of a sequence gives the bits of 7 steps of one token. The graphs have 7
// tokens and one, and 3 rows of state; fill(eval, first, n) sets the other inputs of n tokens.
template <class Fill>
void check_steps(const Graph& seven, const Graph& one, Fill fill) {
  Evaluator together(seven, kPadded), alone(one, kPadded);
  fill(together, 0, 7);
  together.ints("from", {-1, -1, -1, -1, -1, -1, -1}).ints("before", {-1, 0, 1, 2, 3, 4, 5});
  together.ints("to", {-1, -1, -1, 2, -1, -1, 1}).run();
  Floats y;
  for (std::int32_t t = 0; t < 7; ++t) {
    fill(alone, t, 1);
    alone.ints("from", {t == 0 ? -1 : t % 2}).ints("before", {-1}).ints("to", {(t + 1) % 2});
    for (const float value : alone.run().floats("y")) y.push_back(value);
  }
  CHECK(together.floats("y") == y);
  const auto row_1 = [](const Evaluator& eval) {
    const Floats rows = eval.floats("state");
    const std::ptrdiff_t size = std::ssize(rows) / 3;
    return Floats(rows.begin() + size, rows.begin() + 2 * size);
  };
  CHECK(row_1(together) == row_1(alone));
}

}  // namespace weft::test
