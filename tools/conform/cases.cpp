#include "conform/cases.h"

#include <fmt/format.h>

#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/relu.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/silu_mul.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/rms_norm_mul.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/get_rows.h"

#include "conform/state_cases.h"

namespace weft::conform {
namespace {

using Cases = std::vector<Case>;
using Inputs = std::vector<Tensor>;

constexpr std::int64_t kFew[] = {1, 7, 33};

Tensor apply(Graph& g, const OpDef& op, const Inputs& in, Attrs attrs = {}) {
  return g.add(op, in, std::move(attrs), std::source_location::current(), "node");
}
void done(Graph& g, Tensor y) {
  g.output("y", y);
}
// Rows vary like tokens.
Dim rows(Graph& g, std::int64_t n) {
  return g.variable("T", n);
}

// Ops of rows of d floats, for t rows.
void add_plain_rows(Cases& cases, std::int64_t t, std::int64_t d) {
  const std::string shape = fmt::format("{} x {}", t, d);
  const auto plain = [&](const OpDef& op, int n, const Attrs& attrs) {
    cases.push_back({std::string(op.name), "F32", shape, [=, &op](Graph& g) {
                       const TensorSpec x{f32, {rows(g, t), d}};
                       Inputs in{g.input("a", x)};
                       if (n > 1) in.push_back(g.input("b", x));
                       done(g, apply(g, op, in, attrs));
                     }});
  };
  plain(kAdd, 2, {});
  plain(kMul, 2, {});
  plain(kSilu, 1, {});
  plain(kSiluMul, 2, {});
  for (const OpDef* op : {&kGelu, &kGeluErf, &kRelu, &kSigmoid, &kSoftmax, &kSoftplus, &kTanh})
    plain(*op, 1, {});
  plain(kClamp, 1, ClampAttrs{-0.5f, 0.25f});
  plain(kLayerNorm, 1, LayerNormAttrs{1e-5f});
  plain(kNormalizeSum, 1, NormalizeSumAttrs{});
  plain(kScale, 1, ScaleAttrs{0.37f});
  plain(kRmsNorm, 1, RmsNormAttrs{1e-5f});
  cases.push_back({"rms_norm_mul", "F32", shape, [=](Graph& g) {
                     done(g,
                          apply(g, kRmsNormMul,
                                {g.input("a", {f32, {rows(g, t), d}}), g.weight("w", {f32, {d}})},
                                RmsNormAttrs{1e-5f}));
                   }});
  cases.push_back({"concat", "F32", shape, [=](Graph& g) {
                     done(g, apply(g, kConcat,
                                   {g.input("a", {f32, {rows(g, t), d}}),
                                    g.input("b", {f32, {rows(g, t), d + 3}})}));
                   }});
}

void add_other_rows(Cases& cases, std::int64_t t) {
  cases.push_back(
      {"rms_norm_mul", "F32", fmt::format("{} x 4 x 32", t), [=](Graph& g) {
         done(g, apply(g, kRmsNormMul,
                       {g.input("a", {f32, {rows(g, t), 4, 32}}), g.weight("w", {f32, {32}})},
                       RmsNormAttrs{1e-6f}));
       }});
  cases.push_back(
      {"add", "F32, b a row", fmt::format("{} x 96", t), [=](Graph& g) {
         done(g,
              apply(g, kAdd, {g.input("a", {f32, {rows(g, t), 96}}), g.weight("w", {f32, {96}})}));
       }});
  cases.push_back({"quantize", "Q8A", fmt::format("{} x 256", t), [=](Graph& g) {
                     done(g, apply(g, kQuantize, {g.input("a", {f32, {rows(g, t), 256}})}));
                   }});
}

void add_elementwise(Cases& cases) {
  for (const std::int64_t t : kFew) {
    for (const std::int64_t d : {1, 31, 256}) add_plain_rows(cases, t, d);
    add_other_rows(cases, t);
  }
}

struct Projection {
  std::int64_t t, k, n;
  bool timed = false;
};

void add_projections(Cases& cases, DType x, DType w, const Projection& p) {
  const std::string types =
      x == f32 ? std::string(w.name()) : fmt::format("{} x {}", x.name(), w.name());
  const std::string shape = fmt::format("{} x {} -> {}", p.t, p.k, p.n);
  const auto input = [=](Graph& g) { return g.input("x", {x, {rows(g, p.t), p.k}}); };
  const auto weight = [=](Graph& g, const char* name, std::int64_t n) {
    return g.weight(name, {w, {n, p.k}});
  };
  cases.push_back({"linear", types, shape,
                   [=](Graph& g) {
                     done(g, apply(g, kLinear, {input(g), weight(g, "w", p.n), {}, {}}));
                   },
                   1, p.timed});
  if (p.timed) return;
  cases.push_back({"linear", types + ", bias, residual", shape, [=](Graph& g) {
                     done(g, apply(g, kLinear,
                                   {input(g), weight(g, "w", p.n), g.weight("bias", {f32, {p.n}}),
                                    g.input("r", {f32, {rows(g, p.t), p.n}})}));
                   }});
  cases.push_back({"linear_concat", types, shape + " + 40", [=](Graph& g) {
                     done(g, apply(g, kLinearConcat,
                                   {input(g), weight(g, "w", p.n), weight(g, "w1", 40),
                                    g.weight("b", {f32, {p.n}}), g.weight("b1", {f32, {40}})},
                                   LinearConcatAttrs{2, true}));
                   }});
  cases.push_back({"gated_linear", types, shape, [=](Graph& g) {
                     done(g, apply(g, kGatedLinear,
                                   {input(g), weight(g, "w", p.n), weight(g, "w1", p.n)},
                                   GatedLinearAttrs{}));
                   }});
}

// t tokens, each with two of five matrices, or of all those of which these are a part.
void add_experts(Cases& cases, DType x, DType w, std::int64_t t, std::int64_t d,
                 const ExpertLinearAttrs& part = {}) {
  constexpr std::int64_t kExperts = 5, kWidth = 48;
  const std::string types =
      x == f32 ? std::string(w.name()) : fmt::format("{} x {}", x.name(), w.name());
  const std::string of = part.all > 0 ? fmt::format(" of {} experts", part.all) : "";
  cases.push_back({"expert_linear", types, fmt::format("{} x {} -> 2 x {}{}", t, d, kWidth, of),
                   [=](Graph& g) {
                     done(g, apply(g, kExpertLinear,
                                   {g.input("x", {x, {rows(g, t), d}}),
                                    g.weight("w", {w, {kExperts, kWidth, d}}),
                                    g.input("ids", {i32, {rows(g, t), 2}})},
                                   part));
                   },
                   std::max(kExperts, part.all)});
}

void add_type(Cases& cases, DType w) {
  const std::int64_t block = std::max<std::int64_t>(32, w.block_elems());
  for (const DType x : {f32, q8a}) {
    add_projections(cases, x, w, {1, block, 1});
    add_projections(cases, x, w, {7, block * 3, 37});
    add_projections(cases, x, w, {33, 512, 100});
    for (const std::int64_t t : kFew) add_experts(cases, x, w, t, block * 2);
    add_experts(cases, x, w, 7, block * 2, {.first = 2, .all = 9});
    add_projections(cases, x, w, {1, 1024, 256, true});
    add_projections(cases, x, w, {16, 1024, 256, true});
  }
  for (const std::int64_t t : kFew) {
    cases.push_back(
        {"get_rows", std::string(w.name()), fmt::format("{} of 19 x {}", t, block),
         [=](Graph& g) {
           done(g, apply(g, kGetRows,
                         {g.weight("w", {w, {19, block}}), g.input("ids", {i32, {rows(g, t)}})}));
         },
         19});
  }
}

void add_weights(Cases& cases, std::span<const DType> layouts) {
  for (const Format* format : all_formats()) {
    if (!format->is_integer && format->dtype.gguf_id() >= 0) add_type(cases, format->dtype);
  }
  for (const DType layout : layouts) add_type(cases, layout);
}

void add_rope(Cases& cases) {
  for (const std::int64_t t : kFew) {
    for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
      for (const std::int64_t r : {16, 64}) {
        cases.push_back({"rope", "F32",
                         fmt::format("{} x 3 x 64, {} of {}", t, r, to_string(pairs)),
                         [=](Graph& g) {
                           done(g, apply(g, kRope,
                                         {g.input("a", {f32, {rows(g, t), 3, 64}}),
                                          g.input("b", {f32, {rows(g, t), r}})},
                                         RopeApplyAttrs{pairs}));
                         }});
      }
    }
    const auto angles = [&](const char* what, RopeAttrs attrs, bool factors) {
      cases.push_back({"rope_angles", what, fmt::format("{} x {}", t, attrs.n_rot),
                       [=](Graph& g) {
                         Inputs in{g.input("pos", {i32, {rows(g, t)}}), Tensor()};
                         if (factors) in[1] = g.weight("factors", {f32, {attrs.n_rot / 2}});
                         done(g, apply(g, kRopeAngles, in, attrs));
                       },
                       1000});
    };
    angles("plain", {.n_rot = 64}, false);
    angles("factors", {.n_rot = 64, .base = 500000}, true);
    angles("YaRN", {.n_rot = 64, .freq_scale = 0.25f, .ext_factor = 1, .original_context = 512},
           false);
  }
}

void add_caches(Cases& cases) {
  constexpr std::int64_t kGroups = 2, kWidth = 32, kCells = 3 * kCellsPerBlock;
  for (const DType c : cache_types()) {
    const TensorSpec cache{c, cache_shape(kCells, kGroups, kWidth)};
    const TensorSpec pool{c, cache_shape(2 * kCells, kGroups, kWidth)};
    const std::string type(c.name());
    for (const std::int64_t t : kFew) {
      for (const char* cells : {"cells", "some_cells"}) {
        cases.push_back({"cache_write", type, fmt::format("{} x 2 x 32, {}", t, cells),
                         [=](Graph& g) {
                           done(g, apply(g, kCacheWrite,
                                         {g.state("state", cache),
                                          g.input("a", {f32, {rows(g, t), kGroups, kWidth}}),
                                          g.input(cells, {i32, {rows(g, t)}})}));
                         },
                         kCells});
      }
      for (const std::int64_t heads : {2, 6}) {
        cases.push_back({"attention", type, fmt::format("{} x {} x 32 over 192", t, heads),
                         [=](Graph& g) {
                           const TensorSpec per_token{i32, {rows(g, t)}};
                           done(g, apply(g, kAttention,
                                         {g.input("q", {f32, {rows(g, t), heads, kWidth}}),
                                          g.state("k", pool), g.state("v", pool),
                                          g.input("table", {i32, {2, kCells / kCellsPerBlock}}),
                                          g.input("table_row", per_token),
                                          g.input("first", per_token), g.input("last", per_token)},
                                         AttentionAttrs{0.18f}));
                         },
                         kCells});
      }
    }
  }
}

}  // namespace

std::vector<Case> all_cases(std::span<const DType> layouts) {
  Cases cases;
  add_elementwise(cases);
  add_rope(cases);
  add_caches(cases);
  add_state_cases(cases);
  add_weights(cases, layouts);
  add_op_cases(cases);
  return cases;
}

}  // namespace weft::conform
