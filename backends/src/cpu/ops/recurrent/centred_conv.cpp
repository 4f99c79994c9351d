#include "weft/ops/recurrent/centred_conv.h"

#include <algorithm>

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

// y += w x for the channels of a row; w has a row per channel, but only one of its taps counts.
void add_tap(const View& w, std::int64_t tap, const float* x, std::int64_t first, std::int64_t n,
             float* y) noexcept {
  for (std::int64_t c = 0; c < n; ++c) y[c] += w.row<const float>(first + c)[tap] * x[c];
}

// Every output adds its products in the order of the distance, the token's own first.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &w = args.in[1];
  const auto* before = args.in[2].row<const std::int32_t>(0);
  const std::int64_t n = region.col1 - region.col0, reach = w.dim(1) / 2;
  const auto n_tokens = static_cast<std::int32_t>(x.dim(0));
  auto* const next = reinterpret_cast<std::int32_t*>(args.scratch.data());
  std::fill_n(next, n_tokens, -1);
  for (std::int32_t t = 0; t < n_tokens; ++t) {
    if (before[t] >= 0) next[before[t]] = t;
  }
  const auto input = [&](std::int32_t t) { return floats(x, t, region.col0); };
  for (std::int32_t t = 0; t < n_tokens; ++t) {
    float* const y = floats(args.out, t, region.col0);
    std::fill_n(y, n, 0.0f);
    add_tap(w, reach, input(t), region.col0, n, y);
    std::int32_t earlier = before[t], later = next[t];
    for (std::int64_t d = 1; d <= reach; ++d) {
      if (earlier >= 0) {
        add_tap(w, reach - d, input(earlier), region.col0, n, y);
        earlier = before[earlier];
      }
      if (later >= 0) {
        add_tap(w, reach + d, input(later), region.col0, n, y);
        later = next[later];
      }
    }
  }
}

std::optional<Kernel> find(FeatureSet, const Graph& graph, const Node& node) {
  if (graph[node.inputs[1]].spec.dtype != f32) return std::nullopt;
  const std::int64_t n_tokens = graph[node.inputs[2]].spec.shape[0].bound;
  return Kernel{.row = "centred_conv f32",
                .run = run,
                .scratch_bytes = n_tokens * static_cast<std::int64_t>(sizeof(std::int32_t))};
}

}  // namespace

extern const CpuOp kCpuCentredConv{&kCentredConv, find};

}  // namespace weft::cpu
