#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// The scores of one block of rows with one block of cells.
struct AttentionScores {
  const std::byte* k = nullptr;
  std::int64_t cell = 0, n = 0, e = 0;  // bytes of a cell, cells, elements
  const float* q = nullptr;             // [E][rows]
  float scale = 1;
  float* p = nullptr;  // [rows][kCells]: scale * q . k for the cells up to n, on to whole vectors
};

// The weighted sums of values: y[row] = y[row] * rescale[row] + sum of p * v over the cells
// begin .. end - 1.
struct AttentionValues {
  const std::byte* v = nullptr;
  std::int64_t cell = 0, begin = 0, end = 0;
  const float *p = nullptr, *rescale = nullptr;
  float* y = nullptr;      // [rows][width]
  std::int64_t width = 0;  // whole vectors
};

// The same with integer products, for values [cells][E']. A row attends to the cells
// begin .. end[row] - 1 of the block.
struct AttentionCodeValues {
  const std::byte* v = nullptr;
  std::int64_t cell = 0, e = 0, begin = 0;  // bytes of a cell, E', the first cell
  const std::int64_t* end = nullptr;
  const float* scales = nullptr;  // [E' / 32][kCells], of the cells' blocks
  // p [rows][kCells]; per row the largest p in this block of cells, and the factor for the sums so
  // far.
  const float *p = nullptr, *peaks = nullptr, *rescale = nullptr;
  float* y = nullptr;      // [rows][width]
  std::int64_t width = 0;  // whole vectors
  // A block of cells whose largest p is below this adds nothing; the largest p so far is 1.
  static constexpr float kMinPeak = 0x1p-60f;
};

struct AttentionAhead;  // prefetches

// The functions of a cache type. They process a group's part of a block of cells, `cell` bytes per
// cell, `n` of at most kCells cells. If several blocks of rows share the cells, they are converted
// to tiles of floats; a single block of rows reads them directly. Both give the same bits.
// Quantized types may have integer kernels; for values these are then the only ones.
struct AttentionCells {
  // tile[i][s] = element i of cell s (that is, transposed), 0 for s >= n, i < e.
  void (*key_tile)(const std::byte* k, std::int64_t cell, std::int64_t n, std::int64_t e,
                   float* tile) noexcept = nullptr;
  // tile[s][i] for s < n, i < e, rows of `padded` floats, with zeros after e.
  void (*value_tile)(const std::byte* v, std::int64_t cell, std::int64_t n, std::int64_t e,
                     std::int64_t padded, float* tile) noexcept = nullptr;
  void (*scores)(const AttentionScores& a, int n_rows, AttentionAhead& ahead) noexcept = nullptr;
  void (*values)(const AttentionValues& a, int n_rows, AttentionAhead& ahead) noexcept = nullptr;

  // For quantized types without minima, except with SSE2; null otherwise. Keys need q in Q8A.
  // Tile: words of four codes, lanes are cells, with an offset of `raised`; scales.
  void (*key_codes)(const std::byte* k, std::int64_t cell, std::int64_t n, std::int64_t e,
                    float* tile) noexcept = nullptr;
  int raised = 0;
  // scales[b][s] of the cells' blocks.
  void (*value_scales)(const std::byte* v, std::int64_t cell, std::int64_t n, std::int64_t e,
                       float* scales) noexcept = nullptr;
  void (*code_values)(const AttentionCodeValues& a, int n_rows,
                      AttentionAhead& ahead) noexcept = nullptr;
};

// The changes that biased_attention makes to scores (ops/attention/attention.h). Heads are counted
// from the first one of the call.
struct ScoreBias {
  float softcap = 0;                  // 0: none
  const float* slopes = nullptr;      // [n_heads] of the distance; null: none
  const float* sinks = nullptr;       // [n_heads]; null: none
  const std::int32_t* pos = nullptr;  // [n_tokens]
  // [2 reach + 1] rows of a value per head, for the distances -reach .. reach; null: none.
  const float* distances = nullptr;
  std::int64_t distance_stride = 0, reach = 0;  // floats between rows
};

// Some query heads of one group, for tokens of a sequence whose runs begin at the same position. A
// *row* is one head of one token. Strides are in bytes.
struct AttentionArgs {
  const std::byte* q = nullptr;  // [n_tokens][n_heads, E] f32, or Q8A
  std::int64_t q_stride = 0;
  bool q_in_blocks = false;  // Q8A
  // This group's part of block 0; those of the next blocks follow at the stride.
  const std::byte *k = nullptr, *v = nullptr;
  std::int64_t k_stride = 0, v_stride = 0;
  const std::int32_t* blocks = nullptr;  // the sequence's: position s lies in block blocks[s / 64]
  AttentionCells k_cells, v_cells;
  std::int64_t k_bytes = 0, v_bytes = 0;  // size of the group's part of a cell
  std::byte* y = nullptr;                 // [n_tokens][n_heads, E']
  std::int64_t y_stride = 0;
  std::int64_t first = 0;
  const std::int32_t* last = nullptr;  // [n_tokens], each >= first
  std::int64_t n_tokens = 0, n_heads = 0, e = 0, e_out = 0;
  float scale = 1;
  const ScoreBias* bias = nullptr;  // null: none
  float* scratch = nullptr;         // AttentionScratch(...).total floats, aligned to 64
};

struct AttentionKernels {
  static constexpr std::int64_t kCells = 64;  // cells of a block (ops/attention/cache_cells.h)
  // Max rows that share a block's tiles, if one token has no more.
  static constexpr std::int64_t kTileRows = 128;

  void (*run)(const AttentionArgs& args) noexcept = nullptr;
  AttentionCells f32, f16, q8_0, q5_1, q5_0, q4_1, q4_0;
};

// The parts of scratch memory, in order, in floats. Every part is whole cache lines.
struct AttentionScratch {
  std::int64_t padded_e, padded_e_out;
  std::int64_t keys = 0, values, p, q, y, largest, sums, total;

  static constexpr std::int64_t kLine = 16;    // floats of a cache line
  static constexpr std::int64_t kMaxRows = 8;  // rows of a block of rows
  static constexpr std::int64_t up(std::int64_t n) { return (n + kLine - 1) / kLine * kLine; }
  constexpr AttentionScratch(std::int64_t n_rows, std::int64_t e, std::int64_t e_out)
      : padded_e(up(e)), padded_e_out(up(e_out)) {
    values = keys + padded_e * AttentionKernels::kCells;
    p = values + padded_e_out * AttentionKernels::kCells;
    q = p + kMaxRows * AttentionKernels::kCells;
    y = q + up(n_rows * e);
    largest = y + n_rows * padded_e_out;
    sums = largest + up(n_rows);
    total = sums + n_rows * kLine;
  }
};

template <class Arch>
struct Attention {
  static AttentionKernels run() noexcept;
};

}  // namespace weft::cpu
