// The ops that update a state (weft/ops/recurrent/state_rows.h).

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "weft/ops/formats/f16.h"
#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/centred_conv.h"
#include "weft/ops/recurrent/delta_rule.h"
#include "weft/ops/recurrent/gated_linear_attention.h"
#include "weft/ops/recurrent/head_decay.h"
#include "weft/ops/recurrent/selective_scan.h"
#include "weft/ops/recurrent/token_shift.h"
#include "weft/ops/rows/pool_tokens.h"

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

constexpr std::int64_t kRows = 4;  // rows of the state

// Adds the node "y" for n_tokens tokens to a graph. Inputs that vary by token have n_tokens rows.
using Build = std::function<Tensor(Graph& g, std::int64_t n_tokens, const StateRows& rows)>;

struct Case {
  std::vector<std::int64_t> state;  // shape of a row
  Build build;
};

Graph graph_of(const Case& c, std::int64_t n_tokens) {
  Graph g;
  std::vector<Dim> dims{kRows};
  for (const std::int64_t n : c.state) dims.emplace_back(n);
  const StateRows rows{g.state("state", {f32, Shape(dims)}), g.input("from", {i32, {n_tokens}}),
                       g.input("before", {i32, {n_tokens}}), g.input("to", {i32, {n_tokens}})};
  g.output("y", c.build(g, n_tokens, rows));
  return g;
}

// Fills weights with noise, and inputs with that of the n_tokens tokens first, first + stride, ...
// Inputs named "decay" get factors in [0, 1), others whose name ends in '/N' noise in
// [-1 / N, 1 / N), and "pos" the numbers of the tokens.
void fill(Evaluator& eval, const Graph& g, std::int64_t first, std::int64_t n_tokens,
          std::int64_t stride = 1) {
  for (NodeId id = 0; id < g.size(); ++id) {
    const Node& node = g[id];
    if (node.path == "pos") {
      std::vector<std::int32_t> pos;
      for (std::int64_t t = 0; t < n_tokens; ++t)
        pos.push_back(static_cast<std::int32_t>(first + t * stride));
      eval.ints("pos", pos);
    }
    if (node.op || node.spec.dtype == i32 || node.path == "state") continue;
    const bool by_token = node.kind == NodeKind::input;
    const std::int64_t n = by_token ? node.spec.shape.cols() : node.spec.shape.elems();
    const std::int64_t n_rows = by_token ? first + n_tokens * stride : 1;
    Floats all = noise(static_cast<std::size_t>(n * n_rows), id + 1);
    if (by_token) {
      for (std::int64_t t = 0; t < n_tokens; ++t)
        std::copy_n(all.begin() + (first + t * stride) * n, n, all.begin() + t * n);
      all.resize(static_cast<std::size_t>(n * n_tokens));
    }
    const std::size_t slash = node.path.find('/');
    const float scale = slash == std::string::npos ? 1 : 1 / std::stof(node.path.substr(slash + 1));
    for (float& x : all) x = node.path == "decay" ? std::fabs(x) : x * scale;
    eval.floats(node.path, all);
  }
}

// Three sequences by turns: one without a state, the others with those of rows 0 and 1. The states
// after the middle token and after the last one are kept.
void check_turns(const Case& c, std::int64_t n_tokens, std::uint32_t seed) {
  const Graph g = graph_of(c, n_tokens);
  Evaluator eval(g, kOddRows);
  fill(eval, g, 0, n_tokens);
  eval.floats("state", noise(eval.floats("state").size(), seed));
  std::vector<std::int32_t> from, before, to(static_cast<std::size_t>(n_tokens), -1);
  for (std::int32_t t = 0; t < n_tokens; ++t) {
    from.push_back(t < 3 ? t - 1 : -1);
    before.push_back(t < 3 ? -1 : t - 3);
  }
  to[to.size() / 2] = 2;
  to.back() = 3;
  eval.ints("from", from).ints("before", before).ints("to", to).run();
  check_kernel(g, eval, "y", seed);
}

struct Result {
  Floats y, state;  // all outputs, and the state after the last token
};

// One sequence in steps of these numbers of tokens, each from the state that the one before kept.
Result in_steps(const Case& c, const std::vector<std::int64_t>& steps) {
  Result r;
  alignas(64) static std::byte scratch[1 << 20];
  std::int64_t first = 0;
  for (const std::int64_t n : steps) {
    const Graph g = graph_of(c, n);
    Evaluator eval(g, kOddRows);
    fill(eval, g, first, n);
    const std::size_t size = eval.floats("state").size() / kRows;
    Floats rows(size * kRows);
    if (first > 0) std::ranges::copy(r.state, rows.begin());
    std::vector<std::int32_t> before, to(static_cast<std::size_t>(n), -1);
    for (std::int32_t t = 0; t < n; ++t) before.push_back(t - 1);
    to.back() = 1;
    const std::vector<std::int32_t> from(to.size(), first > 0 ? 0 : -1);
    eval.floats("state", rows).ints("from", from).ints("before", before).ints("to", to).run();
    const NodeId id = eval.node("y");
    run_on(g, g[id], eval.inputs(id), eval.view(id), Region::whole(eval.view(id)), scratch);
    const Floats y = eval.floats("y"), state = eval.floats("state");
    r.y.insert(r.y.end(), y.begin(), y.end());
    r.state.assign(state.begin() + static_cast<std::ptrdiff_t>(size),
                   state.begin() + static_cast<std::ptrdiff_t>(2 * size));
    first += n;
  }
  return r;
}

constexpr std::int32_t kTurns = 3;  // sequences of check_company()

// A step of sequences by turns, n_each tokens of each: first, first + 1, ... of the kTurns ones.
// Sequence 0 begins without a state, s > 0 with that of row s - 1. Row s + 1 keeps its last state.
Result by_turns(const Case& c, std::int32_t first, std::int32_t n_sequences, std::int32_t n_each) {
  alignas(64) static std::byte scratch[1 << 20];
  const std::int32_t n = n_sequences * n_each;
  const Graph g = graph_of(c, n);
  Evaluator eval(g, kOddRows);
  fill(eval, g, first, n, n_sequences == kTurns ? 1 : kTurns);
  eval.floats("state", noise(eval.floats("state").size(), 1));
  std::vector<std::int32_t> from, before, to;
  for (std::int32_t t = 0; t < n; ++t) {
    const std::int32_t s = first + t % n_sequences;
    from.push_back(t < n_sequences ? s - 1 : -1);
    before.push_back(t < n_sequences ? -1 : t - n_sequences);
    to.push_back(t >= n - n_sequences && s > 0 ? s + 1 : -1);
  }
  eval.ints("from", from).ints("before", before).ints("to", to).run();
  const NodeId id = eval.node("y");
  run_on(g, g[id], eval.inputs(id), eval.view(id), Region::whole(eval.view(id)), scratch);
  return {eval.floats("y"), eval.floats("state")};
}

Floats rows_of(const Floats& all, std::size_t n_rows, std::size_t first, std::size_t stride) {
  Floats rows;
  const std::size_t n = all.size() / n_rows;
  for (std::size_t r = first; r < n_rows; r += stride)
    rows.insert(rows.end(), all.begin() + static_cast<std::ptrdiff_t>(r * n),
                all.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
  return rows;
}

// A sequence gets the same bits in steps with others as in steps of its own.
void check_company(const Case& c, std::int32_t n_each) {
  const Result together = by_turns(c, 0, kTurns, n_each);
  const auto n_tokens = static_cast<std::size_t>(kTurns) * static_cast<std::size_t>(n_each);
  for (std::int32_t s = 0; s < kTurns; ++s) {
    CAPTURE(s);
    const Result alone = by_turns(c, s, 1, n_each);
    CHECK(rows_of(together.y, n_tokens, static_cast<std::size_t>(s), kTurns) == alone.y);
    if (s == 0) continue;
    const auto row = static_cast<std::size_t>(s) + 1;
    CHECK(rows_of(together.state, kRows, row, kRows) == rows_of(alone.state, kRows, row, kRows));
  }
}

void check_case(const Case& c) {
  for (const std::int64_t n : {1, 4, 7, 70}) check_turns(c, n, static_cast<std::uint32_t>(n));
  const Result whole = in_steps(c, {70});
  for (const std::vector<std::int64_t>& steps :
       {std::vector<std::int64_t>(70, 1), {33, 1, 36}, {2, 67, 1}}) {
    const Result parts = in_steps(c, steps);
    CHECK(parts.y == whole.y);
    CHECK(parts.state == whole.state);
  }
  for (const std::int32_t n : {1, 5, 33}) check_company(c, n);
}

TEST_CASE("causal_conv: within the bounds, split anywhere, the same bits in any steps") {
  for (const std::int64_t width : {1, 15, 33, 150}) {
    for (const std::int64_t taps : {2, 4, 19}) {
      for (const DType type : {f32, f16}) {
        CAPTURE(width);
        CAPTURE(taps);
        check_case({{width, taps - 1}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
                      const Tensor bias = taps == 4 ? Tensor{} : g.weight("bias", {f32, {width}});
                      const Tensor in[] = {g.input("x", {f32, {n, width}}),
                                           g.weight("w", {type, {width, taps}}),
                                           bias,
                                           rows.state,
                                           rows.from,
                                           rows.before,
                                           rows.to};
                      return g.add(kCausalConv, in, CausalConvAttrs{.silu = type == f16},
                                   std::source_location::current());
                    }});
      }
    }
  }
}

struct HeadSizes {
  std::int64_t heads, n, p;
};
constexpr HeadSizes kHeadSizes[] = {{1, 1, 1}, {3, 5, 7}, {2, 16, 16}, {2, 19, 150}, {1, 64, 64}};

Tensor decay_of(Graph& g, std::int64_t n_tokens, const HeadSizes& s, bool by_row) {
  return g.input("decay", {f32, by_row ? Shape{n_tokens, s.heads, s.n} : Shape{n_tokens, s.heads}});
}

TEST_CASE("delta_rule: within the bounds, split anywhere, the same bits in any steps") {
  for (const HeadSizes& s : kHeadSizes) {
    for (const bool by_row : {false, true}) {
      CAPTURE(s.n);
      CAPTURE(s.p);
      CAPTURE(by_row);
      check_case({{s.heads, s.n, s.p}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
                    const TensorSpec keys{f32, {n, s.heads, s.n}};
                    const std::string small = fmt::format("/{}", s.n);
                    return delta_rule({.q = g.input("q", keys),
                                       .k = g.input("k", keys),
                                       .v = g.input("v", {f32, {n, s.heads, s.p}}),
                                       .decay = decay_of(g, n, s, by_row),
                                       .remove = g.input("remove" + small, keys),
                                       .write = g.input("write", keys)},
                                      rows);
                  }});
    }
  }
}

TEST_CASE("gated_linear_attention: within the bounds, split anywhere, the same bits in any steps") {
  for (const HeadSizes& s : kHeadSizes) {
    for (const bool by_row : {false, true}) {
      for (const bool with_bonus : {false, true}) {
        CAPTURE(s.n);
        CAPTURE(s.p);
        CAPTURE(by_row);
        CAPTURE(with_bonus);
        check_case(
            {{s.heads, s.n, s.p}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
               // Heads share a q; without a bonus, they also share a k.
               const TensorSpec one{f32, {n, 1, s.n}}, own{f32, {n, s.heads, s.n}};
               const Tensor q = g.input("q", one), v = g.input("v", {f32, {n, s.heads, s.p}});
               const Tensor k = g.input("k", with_bonus ? own : one);
               const Tensor bonus =
                   with_bonus ? g.weight("bonus", {f32, {s.heads, s.n}}) : Tensor{};
               return gated_linear_attention(q, k, v, decay_of(g, n, s, by_row), bonus, rows);
             }});
      }
    }
  }
}

TEST_CASE("pool_tokens: within the bounds, split anywhere, the same bits in any steps") {
  for (const std::int64_t width : {1, 15, 33}) {
    for (const std::int32_t parts : {1, 2, 3}) {
      for (const std::int32_t span : {1, 4, 50}) {
        CAPTURE(width);
        CAPTURE(parts);
        CAPTURE(span);
        check_case({{width, parts, 3}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
                      const TensorSpec row{f32, {n, width * parts}};
                      return pool_tokens(g.input("x", row), g.input("scores", row),
                                         g.input("pos", {i32, {n}}), {.span = span, .parts = parts},
                                         rows);
                    }});
      }
    }
  }
}

TEST_CASE("selective_scan: within the bounds, split anywhere, the same bits in any steps") {
  for (const std::int64_t width : {1, 15, 33}) {
    for (const std::int64_t n_state : {1, 5, 16, 17}) {
      CAPTURE(width);
      CAPTURE(n_state);
      // Rates and steps of both signs: exponents are in (-1, 1).
      check_case({{width, n_state}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
                    const TensorSpec channels{f32, {n, width}}, states{f32, {n, n_state}};
                    return selective_scan(g.input("x", channels), g.input("dt", channels),
                                          g.weight("a", {f32, {width, n_state}}),
                                          g.input("b", states), g.input("c", states), rows);
                  }});
    }
  }
}

TEST_CASE("selective_scan: exponents of any size") {
  constexpr std::int64_t kChannels = 40;
  Graph g;
  const TensorSpec channels{f32, {1, kChannels}}, states{f32, {1, 1}};
  const StateRows rows{g.state("state", {f32, {2, kChannels, 1}}), g.input("from", {i32, {1}}),
                       g.input("before", {i32, {1}}), g.input("to", {i32, {1}})};
  g.output("y", selective_scan(g.input("x", channels), g.input("dt", channels),
                               g.weight("a", {f32, {kChannels, 1}}), g.input("b", states),
                               g.input("c", states), rows));
  const float inf = std::numeric_limits<float>::infinity();
  const Floats exponents{0,     -0.0f, 1,      -1,     10,    -10,   80,     -80, 86,    -86,
                         87,    -87,   -87.3f, -87.4f, -88,   -89,   -100,   88,  88.3f, 88.4f,
                         88.5f, 88.7f, 88.8f,  89,     90,    100,   128,    200, 1e30f, -1e30f,
                         inf,   -inf,  NAN,    0.3f,   -0.3f, 0.35f, -0.35f, 5,   -5,    20};
  for (const float scale : {1.0f, -1.0f}) {
    Evaluator eval(g, kOddRows);
    eval.floats("x", Floats(kChannels, 0)).floats("dt", Floats(kChannels, 1));
    eval.floats("a", exponents).floats("b", {1}).floats("c", {1});
    eval.floats("state", Floats(2 * kChannels, scale));
    eval.ints("from", {0}).ints("before", {-1}).ints("to", {1}).run();
    check_kernel(g, eval, "y", 1);
  }
}

TEST_CASE("token_shift: copies, split anywhere, the same in any steps") {
  for (const std::int64_t width : {1, 33}) {
    check_case({{width}, [=](Graph& g, std::int64_t n, const StateRows& rows) {
                  return token_shift(g.input("x", {f32, {n, width}}), rows);
                }});
  }
}

TEST_CASE("centred_conv: within the bounds, split anywhere, two sequences by turns") {
  for (const std::int64_t taps : {1, 3, 7}) {
    constexpr std::int32_t kTokens = 9;
    const Dim channels = 33;
    Graph g;
    g.output("y", centred_conv(g.input("x", {f32, {kTokens, channels}}),
                               g.weight("w", {f32, {channels, taps}}),
                               g.input("before", {i32, {kTokens}})));
    Evaluator eval(g, kOddRows);
    std::vector<std::int32_t> before;
    for (std::int32_t t = 0; t < kTokens; ++t) before.push_back(t < 2 ? -1 : t - 2);
    eval.floats("x", noise(kTokens * 33, 1)).floats("w", noise(33 * taps, 2));
    eval.ints("before", before).run();
    check_kernel(g, eval, "y", 1);
  }
}

TEST_CASE("head_decay: the factors of the definition, split anywhere") {
  for (const std::int32_t heads : {1, 7, 40}) {
    Graph g;
    g.output("y", head_decay(g.input("pos", {i32, {9}}), {.heads = heads, .rate = 0.7f}));
    Evaluator eval(g, kOddRows);
    eval.ints("pos", std::vector<std::int32_t>(9, 3)).run();
    check_kernel(g, eval, "head_decay", 1);
    CHECK(run_kernel(g, eval, "head_decay") == eval.floats("y"));
  }
}

}  // namespace
}  // namespace weft::test
