#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_k.h"

namespace weft {
namespace {

constexpr std::int64_t kElems = 8192;

// Rows of values as they come in models and as they should not: normal, tiny, large, one-sided,
// sparse, constant, zero.
std::vector<std::vector<float>> inputs(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> all;
  for (const float scale : {1.0f, 1e-3f, 1e-7f, 1e-39f, 1e4f}) {
    auto& x = all.emplace_back(kElems);
    for (float& v : x) v = scale * normal(random);
  }
  auto& positive = all.emplace_back(kElems);
  for (float& v : positive) v = std::fabs(normal(random)) + 0.5f;
  auto& negative = all.emplace_back(kElems);
  for (float& v : negative) v = -std::fabs(normal(random)) - 0.5f;
  auto& sparse = all.emplace_back(kElems);
  for (float& v : sparse) v = random() % 37 ? 0 : 10 * normal(random);
  all.emplace_back(kElems, -0.75f);
  all.emplace_back(kElems, 0.0f);
  return all;
}

TEST_CASE("formats are found by number and name, and no two share either") {
  std::set<std::string_view> names;
  std::set<std::int32_t> ids;
  for (const Format* format : all_formats()) {
    CHECK(names.insert(format->dtype.name()).second);
    CHECK(find_format_by_name(format->dtype.name()) == format);
    CHECK(find_format(format->dtype) == format);
    CHECK((format->decode != nullptr));
    if (format->dtype.gguf_id() < 0) continue;
    CHECK(ids.insert(format->dtype.gguf_id()).second);
    CHECK(find_format_by_gguf_id(static_cast<std::uint32_t>(format->dtype.gguf_id())) == format);
  }
  CHECK(find_format_by_gguf_id(200) == nullptr);
  CHECK(find_format_by_gguf_id(0xffffffff) == nullptr);
  CHECK(find_format_by_name("q8_0") == nullptr);
  CHECK(find_format(DType{}) == nullptr);
}

TEST_CASE("a round trip stays within the max error of the format") {
  for (const Format* format : all_formats()) {
    if (!format->encode || !format->max_error) continue;
    CAPTURE(std::string(format->dtype.name()));
    const std::int64_t block = format->dtype.block_elems();
    for (const auto& x : inputs(1)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(kElems)));
      std::vector<float> back(x.size());
      format->encode(x.data(), bytes.data(), kElems);
      format->decode(bytes.data(), back.data(), kElems);
      double worst = 0;  // distance as a share of the error allowed there
      for (std::int64_t b = 0; b < kElems; b += block) {
        double amax = 0;
        for (std::int64_t i = b; i < b + block; ++i) amax = std::max<double>(amax, std::fabs(x[i]));
        const double bound = format->max_error(amax);
        for (std::int64_t i = b; i < b + block; ++i) {
          const double distance = std::fabs(double{x[i]} - back[i]);
          if (distance > 0) worst = std::max(worst, distance / bound);
        }
      }
      CHECK(worst <= 1);
    }
  }
}

TEST_CASE("decoded values encode to themselves, and no input decodes to anything but numbers") {
  for (const Format* format : all_formats()) {
    if (!format->encode) continue;
    CAPTURE(std::string(format->dtype.name()));
    for (const auto& x : inputs(2)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(kElems)));
      std::vector<float> once(x.size()), twice(x.size());
      format->encode(x.data(), bytes.data(), kElems);
      format->decode(bytes.data(), once.data(), kElems);
      for (const float v : once) REQUIRE(std::isfinite(v));
      format->encode(once.data(), bytes.data(), kElems);
      format->decode(bytes.data(), twice.data(), kElems);
      double moved = 0, before = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        moved += std::pow(double{twice[i]} - once[i], 2);
        before += std::pow(double{once[i]} - x[i], 2);
      }
      CHECK(moved <= before);
    }
  }
}

TEST_CASE("importances lower the errors that they count") {
  std::mt19937 random(4);
  std::vector<float> importance(kElems);
  for (float& v : importance) v = random() % 4 == 0 ? 25.0f : 0.5f;
  const std::vector<float> x = inputs(3).front();
  for (const Format* format : all_formats()) {
    if (!format->encode || !format->encode_weighted) continue;
    CAPTURE(std::string(format->dtype.name()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(format->dtype.bytes(kElems)));
    std::vector<float> back(x.size());
    const auto error = [&] {
      format->decode(bytes.data(), back.data(), kElems);
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        sum += importance[i] * std::pow(double{back[i]} - x[i], 2);
      return sum;
    };
    format->encode(x.data(), bytes.data(), kElems);
    const double plain = error();
    format->encode_weighted(x.data(), importance.data(), bytes.data(), kElems);
    CHECK(error() < plain);
  }
}

TEST_CASE("Q4_K scales survive their packing for all values") {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    Q4_K::Scales in{};
    for (auto& s : in.scale) s = static_cast<std::uint8_t>(random() % 64);
    for (auto& m : in.min) m = static_cast<std::uint8_t>(random() % 64);
    std::uint8_t packed[12];
    Q4_K::pack_scales(in, packed);
    const Q4_K::Scales out = Q4_K::unpack_scales(packed);
    CHECK(std::equal(in.scale, in.scale + 8, out.scale));
    CHECK(std::equal(in.min, in.min + 8, out.min));
  }
}

}  // namespace
}  // namespace weft
