#include "cpu/weight_formats.h"

#include <span>

#include "weft/ops/formats/q8a.h"

#include "cpu/kernel_rows.h"
#include "cpu/kernels/linear/linear_decoded.h"
#include "cpu/weight_format_list.h"

namespace weft::cpu {
namespace {

using Row = KernelRow<WeightKernels (*)() noexcept>;
using Decoded = LinearKernel (*)() noexcept;

template <class Format, class... Arch>
constexpr auto kRows = rows_for(Tags<Arch...>(), []<class A>() -> WeightKernels (*)() noexcept {
  return &Weights<A, Format>::run;
});

struct WeightFormat {
  DType dtype;
  std::span<const Row> rows;
};

#define WEFT_WEIGHT_FORMAT(dtype, Tag, ...) \
  WeightFormat{dtype, kRows<Tag __VA_OPT__(, ) __VA_ARGS__>},
constexpr WeightFormat kFormats[] = {WEFT_WEIGHT_FORMATS(WEFT_WEIGHT_FORMAT)};
#undef WEFT_WEIGHT_FORMAT

constexpr auto kDecodedRows =
    rows_of<LinearDecoded>([]<class Arch>() -> Decoded { return &LinearDecoded<Arch>::run; });

// Null for formats without kernels of their own.
const WeightFormat* find(DType dtype) {
  for (const WeightFormat& f : kFormats) {
    if (f.dtype == dtype) return &f;
  }
  return nullptr;
}

// All other formats have the scalar decoder, and float rows for its output.
WeightRow decoded_row(DType dtype, FeatureSet has) {
  const Format* format = find_format(dtype);
  const auto* row = first_fit(kDecodedRows, has);
  if (!row || !format || format->is_integer || dtype == q8a) return {};
  return {row->isa, {.from_f32 = row->run()}, format};
}

}  // namespace

void WeightRow::decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                       float* out) const noexcept {
  if (kernels.decode) return kernels.decode(row, begin, end, out);
  decoder->decode(row + decoder->dtype.bytes(begin), out, end - begin);
}

WeightRow find_weight_row(DType weights, FeatureSet has) {
  const WeightFormat* own = find(weights);
  if (!own) return decoded_row(weights, has);
  const Row* row = first_fit(own->rows, has);
  return row ? WeightRow{row->isa, row->run()} : WeightRow{};
}

bool has_integer_row(DType weights) {
  return bool(find_weight_row(weights, machine_features()).kernels.from_q8a);
}

bool has_panel_row(DType activations, DType weights, FeatureSet has) {
  const WeightKernels kernels = find_weight_row(weights, has).kernels;
  if (activations == q8a) return bool(kernels.panels_from_q8a);
  return activations == f32 && kernels.panels_from_f32;
}

}  // namespace weft::cpu
