#pragma once
// The cache types (ops/attention/cache_cells.h) that have kernels, and these kernels: the only list
// of them.

#include <span>
#include <string_view>

#include "weft/graph/dtype.h"

#include "cpu/kernel_rows.h"
#include "cpu/kernels/attention/attention.h"

namespace weft::cpu {

// n floats as elements of the type, whole blocks of it; y has no alignment.
using CellWriter = void (*)(const float* x, std::byte* y, std::int64_t n) noexcept;

struct CacheKernels {
  DType dtype;
  std::string_view name;                    // "q8_0"
  AttentionCells AttentionKernels::*cells;  // how attention reads them
  std::span<const KernelRow<CellWriter (*)()>> writers;
  bool integer_keys = false;  // products of keys and queries in Q8A are integers, except with SSE2
};

// Null if the type has none.
const CacheKernels* find_cache_kernels(DType dtype);

}  // namespace weft::cpu
