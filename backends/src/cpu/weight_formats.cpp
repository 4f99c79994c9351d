#include "cpu/weight_formats.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "weft/ops/formats/format.h"
#include "weft/ops/formats/iq1_m.h"
#include "weft/ops/formats/iq1_s.h"
#include "weft/ops/formats/iq2_s.h"
#include "weft/ops/formats/iq2_xs.h"
#include "weft/ops/formats/iq2_xxs.h"
#include "weft/ops/formats/iq3_s.h"
#include "weft/ops/formats/iq3_xxs.h"
#include "weft/ops/formats/iq4_nl.h"
#include "weft/ops/formats/iq4_xs.h"
#include "weft/ops/formats/mxfp4.h"
#include "weft/ops/formats/nf4.h"
#include "weft/ops/formats/nvfp4.h"
#include "weft/ops/formats/q1_0.h"
#include "weft/ops/formats/q2_0.h"
#include "weft/ops/formats/q2_k.h"
#include "weft/ops/formats/q3_k.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q5_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/formats/tq1_0.h"
#include "weft/ops/formats/tq2_0.h"

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
    {q4_1, kIntegerRows<Q4_1Weights>, true},       {q5_0, kIntegerRows<Q5_0Weights>, true},
    {q5_1, kIntegerRows<Q5_1Weights>, true},       {q8_0, kIntegerRows<Q8_0Weights>, true},
    {q2_k, kIntegerRows<Q2_KWeights>, true},       {q3_k, kIntegerRows<Q3_KWeights>, true},
    {q4_k, kIntegerRows<Q4_KWeights>, true},       {q5_k, kIntegerRows<Q5_KWeights>, true},
    {q6_k, kIntegerRows<Q6_KWeights>, true},       {tq2_0, kIntegerRows<TQ2_0Weights>, true},
    {mxfp4, kIntegerRows<MXFP4Weights>, true},     {nvfp4, kIntegerRows<NVFP4Weights>, true},
    {iq4_nl, kIntegerRows<IQ4_NLWeights>, true},   {iq4_xs, kIntegerRows<IQ4_XSWeights>, true},
    {iq3_s, kIntegerRows<IQ3_SWeights>, true},     {iq3_xxs, kIntegerRows<IQ3_XXSWeights>, true},
    {iq2_s, kIntegerRows<IQ2_SWeights>, true},     {iq2_xs, kIntegerRows<IQ2_XSWeights>, true},
    {iq2_xxs, kIntegerRows<IQ2_XXSWeights>, true}, {iq1_m, kIntegerRows<IQ1_MWeights>, true},
    {iq1_s, kIntegerRows<IQ1_SWeights>, true},     {tq1_0, kIntegerRows<TQ1_0Weights>, true},
    {q2_0, kIntegerRows<Q2_0Weights>, true},       {q1_0, kIntegerRows<Q1_0Weights>, true},
    {nf4, kFloatRows<NF4Weights>, false},
};

// Of the plain form; null for formats without kernels of their own.
const WeightFormat* find(DType dtype) {
  for (const WeightFormat& f : kFormats) {
    if (f.dtype == dtype) return &f;
  }
  return nullptr;
}

// All other formats: the scalar decoder, and float rows for what it makes. A kernel is told nothing
// but its operands, hence functions of their own for every format: the one at kIndex of the list.
constexpr std::size_t kMaxFormats = 64;

template <std::size_t kIndex>
struct Decoded {
  static const Format& format() { return *all_formats()[kIndex]; }
  static void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                     float* out) noexcept {
    format().decode(row + format().dtype.bytes(begin), out, end - begin);
  }
  template <Isa kIsa>
  static void from_f32(const LinearArgs& args) noexcept {
    static const auto kRun = best_row(kFloatRows<DecodedWeights>, kIsa).run().from_f32;
    LinearArgs a = args;
    a.decode = format().decode;
    a.block_elems = format().dtype.block_elems();
    a.block_bytes = format().dtype.block_bytes();
    kRun(a);
  }
};

std::size_t index_of(DType dtype) {
  const std::span<const Format* const> formats = all_formats();
  std::size_t i = 0;
  while (i < formats.size() && formats[i]->dtype != dtype) ++i;
  return i;
}

// Every projection asks for its kernels in every call.
using Table = std::array<WeightKernels, kMaxFormats>;
template <Isa kIsa>
const Table& table() noexcept {
  static const Table kTable = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    Table t{WeightKernels{.decode = Decoded<kIndex>::decode,
                          .from_f32 = Decoded<kIndex>::template from_f32<kIsa>}...};
    for (const WeightFormat& f : kFormats) t[index_of(f.dtype)] = best_row(f.rows, kIsa).run();
    return t;
  }
  (std::make_index_sequence<kMaxFormats>());
  return kTable;
}

}  // namespace

bool has_weight_kernels(DType weights) {
  const std::size_t i = index_of(weights);
  if (i >= std::min(all_formats().size(), kMaxFormats)) return false;
  return find(weights) || (weights != q8a && !all_formats()[i]->whole);
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
  const WeightFormat* format = find(weights);
  return best_row(format ? format->rows : std::span<const Row>(kFloatRows<DecodedWeights>), isa)
      .isa;
}

const WeightKernels& weight_kernels(DType weights, Isa isa) noexcept {
  static constexpr const Table& (*kTables[])() noexcept = {
      table<Isa::sse2>, table<Isa::avx2>, table<Isa::avx512>, table<Isa::avx512vnni>};
  return kTables[static_cast<std::size_t>(isa)]()[index_of(weights)];
}

}  // namespace weft::cpu
