#include "cpu/cache_kernels.h"

#include <algorithm>
#include <cstring>

#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q8_0.h"

#include "cpu/kernels/linear/to_blocks.h"
#include "cpu/kernels/rows/to_f16.h"

namespace weft::cpu {
namespace {

// Needs no instruction set.
constexpr InstructionSet kCopy{"copy", "copies", {}};

void copy(const float* x, std::byte* y, std::int64_t n) noexcept {
  std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
}
using Writer = CellWriter (*)();

constexpr KernelRow<Writer> kF32Rows[] = {{&kCopy, []() -> CellWriter { return &copy; }}};
constexpr auto kF16Rows = rows_of<ToF16>(
    []<class Arch>() -> Writer { return []() -> CellWriter { return &ToF16<Arch>::run; }; });
template <auto kType>
constexpr auto kBlockRows = rows_of<ToBlocks>([]<class Arch>() -> Writer {
  return []() -> CellWriter { return ToBlocks<Arch>::run().*kType; };
});

constexpr CacheKernels kTypes[] = {
    {f32, "f32", &AttentionKernels::f32, kF32Rows},
    {f16, "f16", &AttentionKernels::f16, kF16Rows},
    {q8_0, "q8_0", &AttentionKernels::q8_0, kBlockRows<&ToBlocksKernels::q8_0>, true},
    {q5_1, "q5_1", &AttentionKernels::q5_1, kBlockRows<&ToBlocksKernels::q5_1>},
    {q5_0, "q5_0", &AttentionKernels::q5_0, kBlockRows<&ToBlocksKernels::q5_0>, true},
    {q4_1, "q4_1", &AttentionKernels::q4_1, kBlockRows<&ToBlocksKernels::q4_1>},
    {q4_0, "q4_0", &AttentionKernels::q4_0, kBlockRows<&ToBlocksKernels::q4_0>, true}};

}  // namespace

const CacheKernels* find_cache_kernels(DType dtype) {
  const auto* type = std::ranges::find(kTypes, dtype, &CacheKernels::dtype);
  return type == std::end(kTypes) ? nullptr : type;
}

}  // namespace weft::cpu
