#pragma once
// What attention and chosen_attention share: how their inputs become calls of kernels.

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "weft/ops/cache_cells.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"

namespace weft::cpu {

// How many tokens from t on, at most n, have the sequence and the first position of token t.
inline std::int64_t same_run(const std::int32_t* slot, const std::int32_t* first, std::int64_t t,
                             std::int64_t n) {
  std::int64_t count = 1;
  while (count < n && slot[t + count] == slot[t] && first[t + count] == first[t]) ++count;
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

// "attention f16", "attention q8_0 f16", "attention q8a q8_0"
inline std::string attention_name(std::string_view op, DType q, DType k, DType v) {
  const std::string name =
      fmt::format("{} {}{}", op, q == q8a ? "q8a " : "", find_cache_kernels(k)->name);
  return k == v ? name : fmt::format("{} {}", name, find_cache_kernels(v)->name);
}

}  // namespace weft::cpu
