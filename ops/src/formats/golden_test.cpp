// Compares the codecs with blocks that ggml wrote (reference data, golden/quants).
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/ops/formats/format.h"

#include "support/npy.h"
#include "support/reference.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

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

std::vector<std::byte> encode(const Format& format, std::span<const float> x, std::size_t cols,
                              const float* importance) {
  const auto n = static_cast<std::int64_t>(cols);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(format.dtype.bytes(static_cast<std::int64_t>(x.size()))));
  std::byte* out = bytes.data();
  for (std::size_t at = 0; at < x.size(); at += cols, out += format.dtype.bytes(n)) {
    if (importance && format.encode_weighted) {
      format.encode_weighted(x.data() + at, importance, out, n);
    } else {
      format.encode(x.data() + at, out, n);
    }
  }
  return bytes;
}

double squared_error(std::span<const float> a, std::span<const float> b,
                     std::span<const float> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += weights[i % weights.size()] * std::pow(double{a[i]} - b[i], 2);
  return sum;
}

TEST_CASE("encoders give the golden bytes, or no larger errors if they search") {
  const auto dir = test::reference("golden/quants");
  if (!dir) return;
  constexpr std::size_t kCols = 1024;
  const std::vector<float> x = test::read_npy_f32(*dir / "input.npy");
  const std::vector<float> importance = test::read_npy_f32(*dir / "imatrix.npy");
  const std::vector<float> ones(kCols, 1.0f);
  for (const Format* format : all_formats()) {
    for (const bool weighted : {false, true}) {
      const std::string name = std::string(format->dtype.name()) + (weighted ? ".imatrix" : "");
      CAPTURE(name);
      if (!(weighted && format->encode_weighted) && !format->encode) continue;
      if (!fs::exists(*dir / (name + ".bin"))) continue;
      const std::vector<std::byte> bytes =
          encode(*format, x, kCols, weighted ? importance.data() : nullptr);
      if (bytes == test::read_bytes(*dir / (name + ".bin"))) continue;
      std::vector<float> back(x.size());
      format->decode(bytes.data(), back.data(), static_cast<std::int64_t>(x.size()));
      const std::vector<float> golden = test::read_npy_f32(*dir / (name + ".f32.npy"));
      const std::vector<float>& weights = weighted ? importance : ones;
      // Each row has values of its own kind: the RMS error of none may exceed the golden one by
      // more than 2 %.
      for (std::size_t r = 0; r < x.size(); r += kCols) {
        CAPTURE(r / kCols);
        const auto row = [&](const std::vector<float>& all) {
          return std::span(all).subspan(r, kCols);
        };
        CHECK(squared_error(row(back), row(x), weights) <=
              1.02 * 1.02 * squared_error(row(golden), row(x), weights));
      }
      CHECK(squared_error(back, x, weights) <= squared_error(golden, x, weights));
    }
  }
}

TEST_CASE("formats without a search give the golden bytes") {
  const auto dir = test::reference("golden/quants");
  if (!dir) return;
  const std::vector<float> x = test::read_npy_f32(*dir / "input.npy");
  for (const std::string name :
       {"F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_0", "TQ1_0", "TQ2_0", "MXFP4"}) {
    CAPTURE(name);
    CHECK(encode(*find_format_by_name(name), x, 1024, nullptr) ==
          test::read_bytes(*dir / (name + ".bin")));
  }
}

}  // namespace
}  // namespace weft
