#pragma once
// A small Llama-like graph for tests of passes, planner and executor: the same shape of graph that
// a model's builder makes.

#include <cmath>
#include <cstdint>
#include <string>

#include "weft/graph/graph.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "support/runs.h"

namespace weft::test {

struct ToyDims {
  std::int64_t T = 1, S = 16, D = 64, H = 4, G = 2, E = 16, F = 96, V = 50;
  int L = 2;
  DType weights = f32;
  DType cache = f16;
  bool bias = false;  // on q, k and v
};

class ToyLlama {
 public:
  explicit ToyLlama(const ToyDims& dims) : d(dims) {}

  // Inputs: tokens, pos, cells, table_row, first, last [T], table [1, B] and out_rows [O]; output:
  // logits [O, V]. O is at most T.
  Graph build() {
    const Dim t = g.variable("T", d.T), o = g.variable("O", d.T);
    const Tensor tokens = g.input("tokens", {i32, {t}});
    const Tensor pos = g.input("pos", {i32, {t}});
    cells = g.input("cells", {i32, {t}});
    runs = runs_inputs(g, t, d.S);
    const Tensor out_rows = g.input("out_rows", {i32, {o}});
    angles = rope_angles(pos, {.n_rot = static_cast<std::int32_t>(d.E)});
    Tensor h = get_rows(weight("token_embd", d.V, d.D), tokens);
    for (int i = 0; i < d.L; ++i) {
      const Graph::Scope scope(g, "blk." + std::to_string(i));
      blk = "blk." + std::to_string(i) + ".";
      h = h + attn(i, rms_norm(h, vector(blk + "attn_norm", d.D), 1e-5f));
      h = h + ffn(rms_norm(h, vector(blk + "ffn_norm", d.D), 1e-5f));
    }
    h = rms_norm(get_rows(h, out_rows), vector("output_norm", d.D), 1e-5f);
    g.output("logits", linear(h, weight("output", d.V, d.D)));
    return std::move(g);
  }

 private:
  Tensor weight(const std::string& name, std::int64_t n, std::int64_t k) {
    return g.weight(name + ".weight", {d.weights, {n, k}});
  }
  Tensor vector(const std::string& name, std::int64_t n) {
    return g.weight(name + ".weight", {f32, {n}});
  }
  Tensor project(const std::string& name, Tensor x, std::int64_t n) {
    return linear(x, weight(blk + name, n, d.D),
                  d.bias ? g.weight(blk + name + ".bias", {f32, {n}}) : Tensor{});
  }

  Tensor attn(int layer, Tensor x) {
    const TensorSpec cache{d.cache, cache_shape(d.S, d.G, d.E)};
    const Tensor k_state = g.state("k." + std::to_string(layer), cache);
    const Tensor v_state = g.state("v." + std::to_string(layer), cache);
    const Tensor q = split_heads(project("attn_q", x, d.H * d.E), d.H);
    const Tensor k = split_heads(project("attn_k", x, d.G * d.E), d.G);
    const Tensor v = split_heads(project("attn_v", x, d.G * d.E), d.G);
    const Tensor keys = cache_write(k_state, rope(k, angles, RopePairs::adjacent), cells);
    const Tensor values = cache_write(v_state, v, cells);
    const float scale = 1 / std::sqrt(static_cast<float>(d.E));
    const Tensor y =
        attention(rope(q, angles, RopePairs::adjacent), keys, values, runs, {.scale = scale});
    return linear(merge_heads(y), weight(blk + "attn_output", d.D, d.H * d.E));
  }

  Tensor ffn(Tensor x) {
    const Tensor gate = linear(x, weight(blk + "ffn_gate", d.F, d.D));
    const Tensor up = linear(x, weight(blk + "ffn_up", d.F, d.D));
    return linear(silu(gate) * up, weight(blk + "ffn_down", d.D, d.F));
  }

  ToyDims d;
  Graph g;
  Tensor cells, angles;
  AttentionRuns runs;
  std::string blk;
};

inline Graph toy_llama(const ToyDims& dims) {
  return ToyLlama(dims).build();
}

}  // namespace weft::test
