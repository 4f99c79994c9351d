#include "conform/state_cases.h"

#include <fmt/format.h>

#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/centred_conv.h"
#include "weft/ops/recurrent/delta_rule.h"
#include "weft/ops/recurrent/gated_linear_attention.h"
#include "weft/ops/recurrent/head_decay.h"
#include "weft/ops/recurrent/selective_scan.h"
#include "weft/ops/recurrent/token_shift.h"
#include "weft/ops/rows/pool_tokens.h"

namespace weft::conform {
namespace {

constexpr std::int64_t kFewTokens[] = {1, 7, 33};

// Inputs in their order, and then the state with rows of this shape.
using Inputs = std::vector<Tensor>;
void done(Graph& g, const OpDef& op, Inputs in, Dim t, std::vector<Dim> state,
          const Attrs& attrs = {}) {
  constexpr std::int64_t kRows = 4;
  state.insert(state.begin(), kRows);
  in.push_back(g.state("state", {f32, Shape(state)}));
  for (const char* name : {"from", "before", "to"}) in.push_back(g.input(name, {i32, {t}}));
  g.output("y", g.add(op, in, attrs, std::source_location::current(), "node"));
}

void add_channels(std::vector<Case>& cases, std::int64_t t, std::int64_t width) {
  const std::string shape = fmt::format("{} x {}", t, width);
  for (const bool with_bias : {false, true}) {
    for (const std::int64_t taps : {3, 4}) {
      cases.push_back(
          {"causal_conv", with_bias ? "F32, bias, silu" : "F32",
           fmt::format("{}, {} taps", shape, taps), [=](Graph& g) {
             const Dim n = g.variable("T", t);
             const Tensor bias = with_bias ? g.weight("bias", {f32, {width}}) : Tensor{};
             done(g, kCausalConv,
                  {g.input("x", {f32, {n, width}}), g.weight("w", {f32, {width, taps}}), bias}, n,
                  {width, taps - 1}, CausalConvAttrs{.silu = with_bias});
           }});
    }
  }
  cases.push_back({"token_shift", "F32", shape, [=](Graph& g) {
                     const Dim n = g.variable("T", t);
                     done(g, kTokenShift, {g.input("x", {f32, {n, width}})}, n, {width});
                   }});
  cases.push_back({"pool_tokens", "F32", shape + ", 2 parts", [=](Graph& g) {
                     const Dim n = g.variable("T", t);
                     const TensorSpec row{f32, {n, 2 * width}};
                     done(g, kPoolTokens,
                          {g.input("x", row), g.input("scores", row), g.input("pos", {i32, {n}})},
                          n, {width, 2, 3}, PoolTokensAttrs{.span = 4, .parts = 2});
                   }});
  cases.push_back({"selective_scan", "F32", shape + ", 16 states", [=](Graph& g) {
                     const Dim n = g.variable("T", t);
                     const TensorSpec channels{f32, {n, width}}, states{f32, {n, 16}};
                     done(g, kSelectiveScan,
                          {g.input("x", channels), g.input("dt", channels),
                           g.weight("a", {f32, {width, 16}}), g.input("b", states),
                           g.input("c", states)},
                          n, {width, 16});
                   }});
}

void add_centred(std::vector<Case>& cases, std::int64_t t, std::int64_t width) {
  cases.push_back({"centred_conv", "F32", fmt::format("{} x {}, 3 taps", t, width), [=](Graph& g) {
                     const Dim n = g.variable("T", t);
                     const Tensor y = centred_conv(g.input("x", {f32, {n, width}}),
                                                   g.weight("w", {f32, {width, 3}}),
                                                   g.input("before", {i32, {n}}));
                     g.output("y", y.named("node"));
                   }});
}

struct Heads {
  std::int64_t t, h, n, p;
};

void add_heads(std::vector<Case>& cases, const Heads& s, bool by_row) {
  const std::string shape = fmt::format("{} x {} x {} x {}", s.t, s.h, s.n, s.p);
  const std::string types = by_row ? "F32, decay by row" : "F32";
  const auto decay = [=](Graph& g, Dim t) {
    return g.input("decay", {f32, by_row ? Shape{t, s.h, s.n} : Shape{t, s.h}});
  };
  cases.push_back({"delta_rule", types, shape, [=](Graph& g) {
                     const Dim t = g.variable("T", s.t);
                     const TensorSpec keys{f32, {t, s.h, s.n}}, values{f32, {t, s.h, s.p}};
                     done(g, kDeltaRule,
                          {g.input("q", keys), g.input("k", keys), g.input("v", values),
                           decay(g, t), g.input("remove", keys), g.input("write", keys)},
                          t, {s.h, s.n, s.p});
                   }});
  for (const bool with_bonus : {false, true}) {
    cases.push_back(
        {"gated_linear_attention", with_bonus ? types + ", bonus" : types, shape, [=](Graph& g) {
           const Dim t = g.variable("T", s.t);
           const TensorSpec shared{f32, {t, s.h / 2, s.n}};
           const Tensor bonus = with_bonus ? g.weight("bonus", {f32, {s.h, s.n}}) : Tensor{};
           done(g, kGatedLinearAttention,
                {g.input("q", shared), g.input("k", shared), g.input("v", {f32, {t, s.h, s.p}}),
                 decay(g, t), bonus},
                t, {s.h, s.n, s.p});
         }});
  }
}

}  // namespace

void add_state_cases(std::vector<Case>& cases) {
  for (const std::int64_t t : kFewTokens) {
    for (const std::int64_t width : {1, 31, 256}) {
      add_channels(cases, t, width);
      add_centred(cases, t, width);
    }
    for (const bool by_row : {false, true}) {
      add_heads(cases, {t, 2, 8, 31}, by_row);
      add_heads(cases, {t, 4, 64, 64}, by_row);
    }
    cases.push_back({"head_decay", "F32", fmt::format("{} x 24", t), [=](Graph& g) {
                       const Inputs pos{g.input("pos", {i32, {g.variable("T", t)}})};
                       g.output("y", g.add(kHeadDecay, pos, HeadDecayAttrs{24, 1.5f},
                                           std::source_location::current(), "node"));
                     }});
  }
}

}  // namespace weft::conform
