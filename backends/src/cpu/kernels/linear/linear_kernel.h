#pragma once
// Products of activations and weights, as pointers to functions: their arguments, scratch and
// tiles.

#include <cstddef>
#include <cstdint>

namespace weft::cpu {

// y[t, n] = sum_k x[t, k] * w[n, k] + bias[n] + residual[t, n] for t in [row0, row1), n in [col0,
// col1). Strides are in bytes.
struct LinearArgs {
  const std::byte* x = nullptr;  // [T, K] f32 or Q8A
  std::int64_t x_stride = 0;
  const std::byte* w = nullptr;         // [N, K]
  std::int64_t w_stride = 0;            // bytes of a row, also in panels
  const float* bias = nullptr;          // [N] or null
  const std::byte* residual = nullptr;  // [T, N] f32 or null; may be y
  std::int64_t residual_stride = 0;
  std::byte* y = nullptr;  // [T, N] f32, from column y_col on
  std::int64_t y_stride = 0;
  std::int64_t y_col = 0;
  std::int64_t k = 0;
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;
  // Aligned to 64 bytes: kDecodedPiece bytes for f32 times weights that are not scalars, otherwise
  // projection_scratch(tokens).
  std::byte* scratch = nullptr;
  // Panels of Q8A kernels are prefetched this many bytes before they are read; 0: one token reads
  // them without. Changes the speed only.
  std::int64_t ahead = 0;
  // For LinearDecoded: decodes whole blocks; and the size of a block.
  void (*decode)(const std::byte* in, float* out, std::int64_t n_elems) = nullptr;
  std::int64_t block_elems = 0, block_bytes = 0;
};

// Panel kernels process blocks of this many tokens by this many columns.
inline constexpr std::int64_t kPanelTokens = 512, kPanelCols = 128;
// The scratch that kernels need for `tokens` tokens, in bytes: the sums of that block, and a
// decoded piece of two panels or of some rows.
inline constexpr std::int64_t kDecodedPiece = 32 * 1024;
constexpr std::int64_t projection_scratch(std::int64_t tokens) {
  return kDecodedPiece + (tokens < kPanelTokens ? tokens : kPanelTokens) * kPanelCols * 4;
}

// The numbers of tokens with which a kernel fills a tile or a path: Kernel::token_tiles. 1: it has
// no such tile or path.
struct TokenTiles {
  std::int64_t tile = 1;      // tokens whose sums stay in registers
  std::int64_t few = 1;       // max tokens for which weights are decoded on the fly
  std::int64_t few_tile = 1;  // as `tile`, while weights are decoded on the fly
  std::int64_t block = 1;     // tokens for which a piece of weights is decoded once
};

// A kernel and its tiles. Both come from one class (kernels/linear/linear_kernel.inl.h).
struct LinearKernel {
  void (*run)(const LinearArgs& args) noexcept = nullptr;
  TokenTiles tiles;

  explicit operator bool() const { return run != nullptr; }
};

// The members of Weights as function pointers: one row of a format's table. from_q8a is null for a
// format whose products are not computed in integers.
struct WeightKernels {
  void (*decode)(const std::byte* row, std::int64_t begin, std::int64_t end,
                 float* out) noexcept = nullptr;  // elements [begin, end) of a row
  LinearKernel from_f32;
  LinearKernel from_q8a;
  // The same for the part of a tensor in panels (cpu/panels.h); null if there is none. REQUIRES:
  // columns below the last multiple of kPanelRows.
  LinearKernel panels_from_f32;
  LinearKernel panels_from_q8a;
};

}  // namespace weft::cpu
