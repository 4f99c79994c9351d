// The sums of projections: several rows at a time, each as if it were alone.

#include "projections/projection.h"

#include <vector>

#include <doctest/doctest.h>

namespace weft::ops {
namespace {

View view_of(std::vector<float>& values, std::int64_t rows, std::int64_t cols) {
  return {.data = reinterpret_cast<std::byte*>(values.data()),
          .dtype = f32,
          .n_dims = 2,
          .dims = {rows, cols},
          .row_stride = cols * std::int64_t{sizeof(float)}};
}

std::vector<float> numbers(std::int64_t n, float seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& x : values) x = seed = 3.7f * seed * (1 - seed);
  return values;
}

}  // namespace

TEST_CASE("sums of projections have the bits of one sum in the order of k") {
  constexpr std::int64_t T = 3, K = 37;
  for (const std::int64_t N :
       {std::int64_t{1}, kRowsAtATime - 1, kRowsAtATime, 2 * kRowsAtATime + 3}) {
    CAPTURE(N);
    std::vector<float> x = numbers(T * K, 0.3f), w = numbers(N * K, 0.4f);
    std::vector<int> calls(static_cast<std::size_t>(T * N));
    const auto check_one = [&](std::int64_t t, std::int64_t n, double sum, double total) {
      double want = 0, magnitudes = 0;
      for (std::int64_t k = 0; k < K; ++k) {
        const double product =
            double{x[static_cast<std::size_t>(t * K + k)]} * w[static_cast<std::size_t>(n * K + k)];
        want += product;
        magnitudes += std::fabs(product);
      }
      CHECK(sum == want);
      if (total >= 0) CHECK(total == projection_error(magnitudes, K));
      ++calls[static_cast<std::size_t>(t * N + n)];
    };
    project(view_of(x, T, K), view_of(w, N, K),
            [&](std::int64_t t, std::int64_t n, double sum) { check_one(t, n, sum, -1); });
    CHECK(calls == std::vector<int>(calls.size(), 1));
    project_bound(view_of(x, T, K), view_of(w, N, K), check_one);
    CHECK(calls == std::vector<int>(calls.size(), 2));
  }
}

}  // namespace weft::ops
