#include "cpu/cache_kernels.h"

#include <algorithm>
#include <cstring>

#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"

#include "cpu/kernel_rows.h"
#include "cpu/kernels/to_blocks.h"
#include "cpu/kernels/to_f16.h"

namespace weft::cpu {
namespace {

constexpr auto kHalfRows = float_rows<ToF16>();
constexpr auto kBlockRows = float_rows<ToBlocks>();

void copy(const float* x, std::byte* y, std::int64_t n) noexcept {
  std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
}
CellWriter to_f32(Isa) {
  return &copy;
}
CellWriter to_f16(Isa isa) {
  return best_row(kHalfRows, isa).run;
}
CellWriter to_q8_0(Isa isa) {
  return best_row(kBlockRows, isa).run().q8_0;
}
CellWriter to_q4_0(Isa isa) {
  return best_row(kBlockRows, isa).run().q4_0;
}

constexpr CacheKernels kTypes[] = {{f32, "f32", &AttentionKernels::f32, to_f32},
                                   {f16, "f16", &AttentionKernels::f16, to_f16},
                                   {q8_0, "q8_0", &AttentionKernels::q8_0, to_q8_0},
                                   {q4_0, "q4_0", &AttentionKernels::q4_0, to_q4_0}};

}  // namespace

const CacheKernels* find_cache_kernels(DType dtype) {
  const auto* type = std::ranges::find(kTypes, dtype, &CacheKernels::dtype);
  return type == std::end(kTypes) ? nullptr : type;
}

}  // namespace weft::cpu
