// Compares the codecs with blocks that ggml wrote (reference data, golden/quants).
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string>

#include <doctest/doctest.h>

#include "weft/ops/formats/format.h"

#include "support/npy.h"
#include "support/reference.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

double squared_error(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
  return sum;
}

TEST_CASE("decoders give the golden values bit for bit") {
  const auto dir = test::reference("golden/quants");
  if (!dir) return;
  for (const Format* format : all_formats()) {
    const std::string name(format->dtype.name());
    for (const char* suffix : {"", ".imatrix"}) {
      CAPTURE(name);
      CAPTURE(suffix);
      const fs::path path = *dir / (name + suffix + ".bin");
      if (!fs::exists(path)) continue;
      const std::vector<std::byte> bytes = test::read_bytes(path);
      const std::vector<float> want = test::read_npy_f32(*dir / (name + suffix + ".f32.npy"));
      std::vector<float> got(want.size());
      REQUIRE(format->dtype.bytes(static_cast<std::int64_t>(want.size())) ==
              static_cast<std::int64_t>(bytes.size()));
      format->decode(bytes.data(), got.data(), static_cast<std::int64_t>(got.size()));
      CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("encoders give the golden bytes, or no larger errors where they search") {
  const auto dir = test::reference("golden/quants");
  if (!dir) return;
  const std::vector<float> x = test::read_npy_f32(*dir / "input.npy");
  const auto n = static_cast<std::int64_t>(x.size());
  const std::set<std::string> exact{"F16", "BF16", "Q4_0", "Q8_0"};
  for (const Format* format : all_formats()) {
    const std::string name(format->dtype.name());
    CAPTURE(name);
    if (!format->encode || !fs::exists(*dir / (name + ".bin"))) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(n)));
    format->encode(x.data(), bytes.data(), n);
    if (exact.contains(name)) {
      CHECK(bytes == test::read_bytes(*dir / (name + ".bin")));
      continue;
    }
    std::vector<float> back(x.size());
    format->decode(bytes.data(), back.data(), n);
    const std::vector<float> golden = test::read_npy_f32(*dir / (name + ".f32.npy"));
    // Each row has values of its own kind: the RMS error of none may exceed the golden one by more
    // than 2 %.
    constexpr std::size_t kRow = 1024;
    for (std::size_t r = 0; r < x.size(); r += kRow) {
      CAPTURE(r / kRow);
      const auto row = [&](const std::vector<float>& all) {
        return std::span(all).subspan(r, kRow);
      };
      CHECK(squared_error(row(back), row(x)) <= 1.02 * 1.02 * squared_error(row(golden), row(x)));
    }
    CHECK(squared_error(back, x) <= squared_error(golden, x));
  }
}

}  // namespace
}  // namespace weft
