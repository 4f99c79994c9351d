#include "formats/search/lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/ops/formats/format.h"

#include "support/npy.h"
#include "support/reference.h"

namespace weft {
namespace {

template <std::size_t kDims, std::size_t kPoints, std::size_t kValues>
void check_nearest(const Grid<kDims, kPoints>& grid,
                   const std::array<std::int8_t, kValues>& values) {
  const formats::Lattice lattice(grid, values);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> cost(-1, 2);
  for (int round = 0; round < 2000; ++round) {
    float costs[kDims][kValues];
    for (auto& row : costs) {
      for (float& c : row) c = round % 3 ? cost(random) : std::round(4 * cost(random));
    }
    const auto total = [&](int p) {
      double sum = 0;
      for (std::size_t i = 0; i < kDims; ++i) {
        const auto coordinate = grid[static_cast<std::size_t>(p)][i];
        sum += costs[i][std::find(values.begin(), values.end(), coordinate) - values.begin()];
      }
      return sum;
    };
    double least = HUGE_VAL;
    for (int p = 0; p < static_cast<int>(kPoints); ++p) least = std::min(least, total(p));
    // Each of kDims additions of numbers below 4 * kDims may round.
    float changed[kDims][kValues];
    std::copy(&costs[0][0], &costs[0][0] + kDims * kValues, &changed[0][0]);
    CHECK(total(lattice.nearest(changed)) <= least + kDims * 4 * kDims * 0x1p-23);
  }
}

TEST_CASE("the nearest lattice point found is the nearest of all") {
  check_nearest(kIQ2_XXSGrid, kIQ2Values);
  check_nearest(kIQ2_XSGrid, kIQ2Values);
  check_nearest(kIQ2_SGrid, kIQ2Values);
  check_nearest(kIQ3_XXSGrid, kIQ3_XXSValues);
  check_nearest(kIQ3_SGrid, kIQ3_SValues);
  check_nearest(kIQ1Grid, kIQ1Values);
}

TEST_CASE("eight signs in seven bits are even") {
  for (unsigned seven = 0; seven < 128; ++seven) {
    CHECK((even_signs(seven) & 127) == seven);
    CHECK(std::popcount(even_signs(seven)) % 2 == 0);
  }
}

std::vector<const Format*> iq_formats() {
  std::vector<const Format*> all;
  for (const Format* format : all_formats()) {
    if (format->dtype.name().starts_with("IQ")) all.push_back(format);
  }
  return all;
}

TEST_CASE("weighted errors of IQ formats are no larger than the golden ones in any row") {
  const auto dir = test::reference("golden/quants");
  if (!dir) return;
  constexpr std::size_t kRow = 1024;
  const std::vector<float> x = test::read_npy_f32(*dir / "input.npy");
  const std::vector<float> importance = test::read_npy_f32(*dir / "imatrix.npy");
  for (const Format* format : iq_formats()) {
    const std::string name(format->dtype.name());
    CAPTURE(name);
    const std::vector<float> golden = test::read_npy_f32(*dir / (name + ".imatrix.f32.npy"));
    for (std::size_t r = 0; r < x.size(); r += kRow) {
      CAPTURE(r / kRow);
      std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(kRow)));
      std::vector<float> back(kRow);
      format->encode_weighted(x.data() + r, importance.data(), bytes.data(), kRow);
      format->decode(bytes.data(), back.data(), kRow);
      double ours = 0, theirs = 0;
      for (std::size_t i = 0; i < kRow; ++i) {
        ours += importance[i] * std::pow(double{back[i]} - x[r + i], 2);
        theirs += importance[i] * std::pow(double{golden[r + i]} - x[r + i], 2);
      }
      CHECK(ours <= theirs);
    }
  }
}

TEST_CASE("IQ formats accept any importance and lower the error of important values") {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  constexpr std::size_t kRow = 512;
  std::vector<float> x(kRow), even(kRow, 1), first(kRow), none(kRow), huge(kRow, 3e38f), back(kRow);
  for (std::size_t i = 0; i < kRow; ++i) {
    x[i] = normal(random);
    first[i] = i % 4 == 0 ? 1 : 0;
  }
  for (const Format* format : iq_formats()) {
    CAPTURE(std::string(format->dtype.name()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(kRow)));
    const auto error = [&](const std::vector<float>& importance) {
      format->encode_weighted(x.data(), importance.data(), bytes.data(), kRow);
      format->decode(bytes.data(), back.data(), kRow);
      double sum = 0;
      for (std::size_t i = 0; i < kRow; i += 4) sum += std::pow(double{back[i]} - x[i], 2);
      return sum;
    };
    const double before = error(even);
    CHECK(error(first) < before);
    CHECK(error(none) == before);
    CHECK(error(huge) == before);
  }
}

TEST_CASE("formats that need importances cannot encode without") {
  for (const Format* format : iq_formats()) {
    const std::string name(format->dtype.name());
    CAPTURE(name);
    CHECK((format->encode == nullptr) ==
          (name == "IQ1_S" || name == "IQ2_XXS" || name == "IQ2_XS"));
    CHECK((format->encode_weighted != nullptr));
  }
}

}  // namespace
}  // namespace weft
