#include "weft/quantize/row_converter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/half.h"

namespace weft::quantize {
namespace {

// Weights per pass, so that their f32 values stay in the cache between the passes.
constexpr std::int64_t kAtATime = 8192;

constexpr float kF16Limit = 65520;  // from here on, rounding gives infinity

// The largest magnitude as the bits of an f32: those of NaN and infinity compare above all others.
// Without branches, so that it vectorizes.
std::uint32_t largest_bits(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float v : values)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(v) & 0x7fffffffu);
  return largest;
}

// Exact for finite values; infinity and NaN stay such. The exponent is corrected by a product,
// which also handles subnormals of f16. Without branches, too.
void decode_f16(const std::byte* in, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint16_t half;
    std::memcpy(&half, in + 2 * i, sizeof half);
    const std::uint32_t magnitude = std::uint32_t{half & 0x7fffu} << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    const std::uint32_t special = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
    const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
    out[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
  }
}

void decode(const Format& format, const std::byte* in, float* out, std::int64_t n) {
  if (format.dtype == f16) {
    decode_f16(in, out, n);
  } else if (format.dtype == f32) {
    std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(float));
  } else {
    format.decode(in, out, n);
  }
}

BadWeight first_above(std::span<const float> values, float limit) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(std::fabs(values[i]) < limit)) return {static_cast<std::int64_t>(i), values[i]};
  }
  return {};
}

}  // namespace

void refuse(std::string_view file, const CheckpointTensor& tensor, DType to, std::int64_t first_row,
            const BadWeight& bad) {
  const std::int64_t n_cols = tensor.spec.shape.last();
  const std::string place =
      fmt::format("{}: tensor '{}' holds {} at element {} (row {}, column {})", file,
                  printable(tensor.name), bad.value, first_row * n_cols + bad.index,
                  first_row + bad.index / n_cols, bad.index % n_cols);
  if (std::isfinite(bad.value))
    fail<FormatError>("{}, which is too large for {}", place, to.name());
  fail<FormatError>("{}: the file is damaged (or write such weights as 0 on request)", place);
}

BadWeight RowConverter::convert(const Format& from, const Format& to, const std::byte* in,
                                std::byte* out, std::int64_t n_rows, std::int64_t n_cols,
                                const float* importance, bool zero) {
  const bool weighted = to.encode_weighted != nullptr && importance != nullptr;
  const float limit = to.dtype == f16 ? kF16Limit : std::bit_cast<float>(0x7f800000u);
  const std::int64_t step = std::max<std::int64_t>(1, kAtATime / n_cols);
  values_.resize(static_cast<std::size_t>(std::min(step, n_rows) * n_cols));
  for (std::int64_t row = 0; row < n_rows; row += step) {
    const std::int64_t n = std::min(step, n_rows - row) * n_cols;
    const std::span<float> values = std::span(values_).first(static_cast<std::size_t>(n));
    decode(from, in + from.dtype.bytes(row * n_cols), values.data(), n);
    if (largest_bits(values) >= std::bit_cast<std::uint32_t>(limit)) {
      if (zero) {
        for (float& v : values) v = std::isfinite(v) ? v : 0.0f;
      }
      BadWeight bad = first_above(values, limit);
      if (bad.found()) {
        bad.index += row * n_cols;
        return bad;
      }
    }
    std::byte* const to_row = out + to.dtype.bytes(row * n_cols);
    if (!weighted) {
      to.encode(values.data(), to_row, n);
      continue;
    }
    for (std::int64_t at = 0; at < n; at += n_cols)
      to.encode_weighted(values.data() + at, importance, to_row + to.dtype.bytes(at), n_cols);
  }
  return {};
}

BadWeight find_nonfinite(const Format& format, const std::byte* in, std::int64_t n_elems) {
  std::vector<float> values(static_cast<std::size_t>(std::min(kAtATime, n_elems)));
  for (std::int64_t at = 0; at < n_elems; at += kAtATime) {
    const std::int64_t n = std::min(kAtATime, n_elems - at);
    const std::span<float> piece = std::span(values).first(static_cast<std::size_t>(n));
    decode(format, in + format.dtype.bytes(at), piece.data(), n);
    if (largest_bits(piece) < 0x7f800000u) continue;
    BadWeight bad = first_above(piece, std::bit_cast<float>(0x7f800000u));
    bad.index += at;
    return bad;
  }
  return {};
}

}  // namespace weft::quantize
