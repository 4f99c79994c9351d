#pragma once
// Code shared by attention, chosen_attention and joined_attention: how their inputs become calls of
// kernels.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"

namespace weft::cpu {

// How many tokens from t on, at most n, have the sequence and the first position of token t.
inline std::int64_t same_run(const std::int32_t* table_row, const std::int32_t* first,
                             std::int64_t t, std::int64_t n) {
  std::int64_t count = 1;
  while (count < n && table_row[t + count] == table_row[t] && first[t + count] == first[t]) ++count;
  return count;
}

// The call for tokens from t on and heads h .. h_end - 1 of one group: all but the positions
// (blocks, first, last), their number of tokens, scale and bias.
inline AttentionArgs attention_call(const KernelArgs& args, const AttentionKernels& kernels,
                                    std::int64_t t, std::int64_t h, std::int64_t h_end) {
  const View &q = args.in[0], &k = args.in[1], &v = args.in[2];
  const std::int64_t e = q.dim(-1), e_out = v.dim(-1), group = h / (q.dim(1) / k.dim(1));
  return {.q = q.row<const std::byte>(t) + q.dtype.bytes(h * e),
          .q_stride = q.row_stride,
          .q_in_blocks = q.dtype == q8a,
          .k = cell_at<const std::byte>(k, 0, group),
          .v = cell_at<const std::byte>(v, 0, group),
          .k_stride = k.row_stride,
          .v_stride = v.row_stride,
          .k_cells = kernels.*find_cache_kernels(k.dtype)->cells,
          .v_cells = kernels.*find_cache_kernels(v.dtype)->cells,
          .k_bytes = k.dtype.bytes(e),
          .v_bytes = v.dtype.bytes(e_out),
          .y = reinterpret_cast<std::byte*>(floats(args.out, t, h * e_out)),
          .y_stride = args.out.row_stride,
          .n_heads = h_end - h,
          .e = e,
          .e_out = e_out,
          .scratch = reinterpret_cast<float*>(args.scratch.data())};
}

// The positions first .. last, or those of them in the spans that `numbers` names in ascending
// order, without negative ones.
struct Positions {
  std::int64_t span = 1, n_numbers = 0;
  const std::int32_t* numbers = nullptr;  // null: all
  std::int64_t first = 0, last = 0;

  // Calls f(begin, end) for each range of successive positions, in ascending order; neighbours are
  // joined.
  template <class F>
  void for_each_range(F f) const {
    if (!numbers && first <= last) f(first, last + 1);
    std::int64_t begin = 0, end = 0;
    for (std::int64_t i = 0; i < (numbers ? n_numbers : 0); ++i) {
      const std::int64_t from = std::max(numbers[i] * span, first);
      const std::int64_t to = std::min((numbers[i] + 1) * span, last + 1);
      if (numbers[i] < 0 || from >= to) continue;
      if (from != end && begin < end) f(begin, end);
      if (from != end || begin == end) begin = from;
      end = to;
    }
    if (begin < end) f(begin, end);
  }
};

// Copies the cells of the positions, one after the other: n_bytes each, in blocks `stride` bytes
// apart whose numbers are in `table`. Returns how many there are.
inline std::int64_t copy_cells(const Positions& positions, const std::int32_t* table,
                               const std::byte* cells, std::int64_t stride, std::int64_t n_bytes,
                               std::byte* to) {
  std::int64_t count = 0;
  positions.for_each_range([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end;) {
      const std::int64_t in_block = s % kCellsPerBlock,
                         n = std::min(kCellsPerBlock - in_block, end - s);
      std::memcpy(to + count * n_bytes,
                  cells + table[s / kCellsPerBlock] * stride + in_block * n_bytes,
                  static_cast<std::size_t>(n * n_bytes));
      count += n;
      s += n;
    }
  });
  return count;
}

// "attention f16", "attention q8_0 f16", "attention q8a q8_0"
inline std::string attention_name(std::string_view op, DType q, DType k, DType v) {
  const std::string name =
      fmt::format("{} {}{}", op, q == q8a ? "q8a " : "", find_cache_kernels(k)->name);
  return k == v ? name : fmt::format("{} {}", name, find_cache_kernels(v)->name);
}

}  // namespace weft::cpu
