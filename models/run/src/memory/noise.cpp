#include "memory/noise.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/ops/formats/format.h"

namespace weft::run {
namespace {

constexpr std::int64_t kElems = 1 << 16;  // encoded once and repeated

}  // namespace

Noise::Noise(DType dtype) {
  const Format* format = find_format(dtype.plain());
  if (!format || !format->encode) fail<UnsupportedError>("cannot write type {}", dtype.name());
  std::vector<float> values(kElems);
  std::uint32_t state = 1;
  for (float& v : values) {
    state = state * 1664525 + 1013904223;  // Knuth's and Lewis's generator
    v = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  encoded_.resize(static_cast<std::size_t>(dtype.bytes(kElems)));
  format->encode(values.data(), encoded_.data(), kElems);
}

void Noise::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(encoded_.size() - next_, bytes.size());
    std::copy_n(encoded_.begin() + static_cast<std::ptrdiff_t>(next_), n, bytes.begin());
    bytes = bytes.subspan(n);
    next_ = (next_ + n) % encoded_.size();
  }
}

}  // namespace weft::run
