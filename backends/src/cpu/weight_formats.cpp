#include "cpu/weight_formats.h"

#include <array>
#include <span>

#include "weft/ops/formats/iq1_m.h"
#include "weft/ops/formats/iq1_s.h"
#include "weft/ops/formats/iq2_s.h"
#include "weft/ops/formats/iq2_xs.h"
#include "weft/ops/formats/iq2_xxs.h"
#include "weft/ops/formats/iq3_s.h"
#include "weft/ops/formats/iq3_xxs.h"
#include "weft/ops/formats/iq4_nl.h"
#include "weft/ops/formats/iq4_xs.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/kernel_rows.h"

namespace weft::cpu {
namespace {

using Row = KernelRow<WeightKernels (*)() noexcept>;

template <class Format>
struct Of {
  template <class Arch>
  using Kernel = Weights<Arch, Format>;
};
template <class Format>
constexpr auto kFloatRows = float_rows<Of<Format>::template Kernel>();
template <class Format>
constexpr auto kIntegerRows = integer_rows<Of<Format>::template Kernel>();

struct WeightFormat {
  DType dtype;
  std::span<const Row> rows;
  bool integer;
};

constexpr WeightFormat kFormats[] = {
    {f32, kFloatRows<F32Weights>, false},          {f16, kFloatRows<F16Weights>, false},
    {bf16, kFloatRows<BF16Weights>, false},        {q4_0, kIntegerRows<Q4_0Weights>, true},
    {q8_0, kIntegerRows<Q8_0Weights>, true},       {q4_k, kIntegerRows<Q4_KWeights>, true},
    {q6_k, kIntegerRows<Q6_KWeights>, true},       {iq4_nl, kIntegerRows<IQ4_NLWeights>, true},
    {iq4_xs, kIntegerRows<IQ4_XSWeights>, true},   {iq3_s, kIntegerRows<IQ3_SWeights>, true},
    {iq3_xxs, kIntegerRows<IQ3_XXSWeights>, true}, {iq2_s, kIntegerRows<IQ2_SWeights>, true},
    {iq2_xs, kIntegerRows<IQ2_XSWeights>, true},   {iq2_xxs, kIntegerRows<IQ2_XXSWeights>, true},
    {iq1_m, kIntegerRows<IQ1_MWeights>, true},     {iq1_s, kIntegerRows<IQ1_SWeights>, true},
};

// Of the plain form.
const WeightFormat* find(DType dtype) {
  for (const WeightFormat& f : kFormats) {
    if (f.dtype == dtype) return &f;
  }
  return nullptr;
}

// Every projection asks for its kernels in every call.
using Table = std::array<WeightKernels, std::size(kFormats)>;
template <Isa kIsa>
const Table& table() noexcept {
  static const Table kTable = [] {
    Table t;
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = best_row(kFormats[i].rows, kIsa).run();
    return t;
  }();
  return kTable;
}

}  // namespace

bool has_weight_kernels(DType weights) {
  return find(weights) != nullptr;
}

bool has_integer_row(DType weights) {
  const WeightFormat* format = find(weights);
  return format && format->integer;
}

bool has_panel_row(DType activations, DType weights, Isa isa) {
  if (!has_weight_kernels(weights)) return false;
  const WeightKernels kernels = weight_kernels(weights, isa);
  if (activations == q8a) return kernels.panels_from_q8a != nullptr;
  return activations == f32 && kernels.panels_from_f32 != nullptr;
}

Isa weight_row_isa(DType weights, Isa isa) {
  return best_row(find(weights)->rows, isa).isa;
}

const WeightKernels& weight_kernels(DType weights, Isa isa) noexcept {
  static constexpr const Table& (*kTables[])() noexcept = {
      table<Isa::sse2>, table<Isa::avx2>, table<Isa::avx512>, table<Isa::avx512vnni>};
  const auto format = static_cast<std::size_t>(find(weights) - kFormats);
  return kTables[static_cast<std::size_t>(isa)]()[format];
}

}  // namespace weft::cpu
