#include "weft/ops/attention/attention.h"

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"

#include "op_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace test;

struct Setup {
  std::int64_t n_tokens = 1, n_cells = 1, heads = 1, kv_heads = 1, e = 2, e_v = 2;
  DType cache = f32;
  float scale = 1;

  Graph graph() const {
    Graph g;
    const Tensor q = g.input("q", {f32, {n_tokens, heads, e}});
    const Tensor k = g.input("k", {cache, cache_shape(n_cells, kv_heads, e)});
    const Tensor v = g.input("v", {cache, cache_shape(n_cells, kv_heads, e_v)});
    g.output("y", attention(q, k, v, runs_inputs(g, n_tokens, n_cells), {.scale = scale}));
    return g;
  }
};

TEST_CASE("attention: one key gives its value") {
  const Graph g = Setup{.n_cells = 3, .heads = 2}.graph();
  Evaluator eval(g, kPadded);
  eval.floats("q", {1, 2, -3, 4}).floats("k", in_cells(noise(6, 1), 1, 2));
  eval.floats("v", in_cells(Floats{1, 2, 30, 40, 5, 6}, 1, 2));
  set_runs(eval, {1}, {1}).run();
  CHECK(eval.floats("y") == Floats{30, 40, 30, 40});
}

TEST_CASE("attention: two keys, by hand, cells outside the run are ignored") {
  const Graph g = Setup{.n_cells = 4, .e = 1, .e_v = 1, .scale = 2}.graph();
  Evaluator eval(g, kPadded);
  // Scores 2 * 3 * (0, ln(3) / 6): weights 1/4 and 3/4.
  const float k = static_cast<float>(std::log(3.0) / 6);
  eval.floats("q", {3}).floats("k", in_cells(Floats{1e30f, 0, k, NAN}, 1, 1, NAN));
  eval.floats("v", in_cells(Floats{NAN, 4, 8, NAN}, 1, 1, NAN));
  set_runs(eval, {1}, {2}).run();
  check_close(eval.floats("y"), {7}, eval.bounds("y"));
}

TEST_CASE("attention: large scores do not overflow") {
  const Graph g = Setup{.n_cells = 2, .e = 1, .e_v = 1}.graph();
  Evaluator eval(g, kPadded);
  eval.floats("q", {1e4f}).floats("k", in_cells(Floats{1, -1}, 1, 1));
  eval.floats("v", in_cells(Floats{5, 7}, 1, 1));
  set_runs(eval, {0}, {1}).run();
  CHECK(eval.floats("y") == Floats{5});
}

TEST_CASE("attention: query heads share the kv head of their group, values may be wider") {
  const Setup setup{
      .n_tokens = 2, .n_cells = 5, .heads = 4, .kv_heads = 2, .e = 4, .e_v = 3, .cache = f16};
  const Graph g = setup.graph();
  Evaluator eval(g, kPadded);
  const Floats q = noise(32, 1), k = noise(40, 2), v = noise(30, 3);
  eval.floats("q", q).floats("k", in_cells(k, 2, 4)).floats("v", in_cells(v, 2, 3));
  set_runs(eval, {0, 1}, {3, 4}).run();
  // Every head alone, with the kv head it shares as the only one.
  const Floats y = eval.floats("y");
  const Graph single = Setup{.n_tokens = 2, .n_cells = 5, .e = 4, .e_v = 3, .cache = f16}.graph();
  const auto part = [](const Floats& all, std::size_t n_heads, std::size_t h, std::size_t width) {
    Floats out;
    for (std::size_t r = 0; r * n_heads * width < all.size(); ++r) {
      for (std::size_t i = 0; i < width; ++i) out.push_back(all[(r * n_heads + h) * width + i]);
    }
    return out;
  };
  for (std::size_t h = 0; h < 4; ++h) {
    Evaluator one(single, kPadded);
    one.floats("q", part(q, 4, h, 4))
        .floats("k", in_cells(part(k, 2, h / 2, 4), 1, 4))
        .floats("v", in_cells(part(v, 2, h / 2, 3), 1, 3));
    set_runs(one, {0, 1}, {3, 4}).run();
    CHECK(one.floats("y") == part(y, 4, h, 3));
  }
}

TEST_CASE("attention: online softmax in plain f32 keeps within the bound") {
  const Setup setup{.n_cells = 300, .e = 64, .e_v = 64, .scale = 0.125f};
  const Graph g = setup.graph();
  const Floats q = noise(64, 1), k = noise(300 * 64, 2), v = noise(300 * 64, 3);
  Evaluator eval(g, kPadded);
  eval.floats("q", q).floats("k", in_cells(k, 1, 64)).floats("v", in_cells(v, 1, 64));
  set_runs(eval, {0}, {299}).run();
  Floats y(64);
  float largest = -INFINITY, sum = 0;
  for (std::size_t s = 0; s < 300; ++s) {
    float score = 0;
    for (std::size_t i = 0; i < 64; ++i) score += q[i] * k[s * 64 + i];
    score *= setup.scale;
    const float now = std::max(largest, score), keep = std::exp(largest - now),
                p = std::exp(score - now);
    sum = sum * keep + p;
    for (std::size_t i = 0; i < 64; ++i) y[i] = y[i] * keep + p * v[s * 64 + i];
    largest = now;
  }
  for (float& x : y) x /= sum;
  const Floats bounds = eval.bounds("y");
  check_close(y, eval.floats("y"), bounds);
  for (const float b : bounds) CHECK(b < 1e-3f);  // one key in 300 weighs about 3e-3
}

TEST_CASE("attention: quantized keys and values have their decoded values") {
  const auto graph = [](DType k, DType v) {
    Graph g;
    const Tensor q = g.input("q", {f32, {2, 4, 64}});
    const Tensor ks = g.input("k", {k, cache_shape(9, 2, 64)}),
                 vs = g.input("v", {v, cache_shape(9, 2, 32)});
    g.output("y", attention(q, ks, vs, runs_inputs(g, 2, 9), {.scale = 0.125f}));
    return g;
  };
  const Graph plain = graph(f32, f32);
  for (const DType k : cache_types().subspan(1)) {
    for (const DType v : cache_types().subspan(1)) {
      const Graph g = graph(k, v);
      Evaluator eval(g, kPadded), decoded(plain, kPadded);
      eval.floats("q", noise(512, 1))
          .floats("k", noise(64 * 128, 2))
          .floats("v", noise(64 * 64, 3));
      set_runs(eval, {0, 2}, {8, 5}).run();
      decoded.floats("q", eval.floats("q")).floats("k", eval.floats("k"));
      decoded.floats("v", eval.floats("v"));
      set_runs(decoded, {0, 2}, {8, 5}).run();
      CHECK(eval.floats("y") == decoded.floats("y"));
      // Weights of values in blocks may be rounded.
      const Floats bounds = eval.bounds("y"), plain_bounds = decoded.bounds("y");
      for (std::size_t i = 0; i < bounds.size(); ++i)
        CHECK((v == f16 ? bounds[i] == plain_bounds[i]
                        : bounds[i] > plain_bounds[i] && bounds[i] < plain_bounds[i] + 1e-4f));
    }
  }
}

TEST_CASE("attention: quantized q has its decoded values") {
  const auto graph = [](bool in_blocks) {
    Graph g;
    const Tensor q = g.input("q", {in_blocks ? q8a : f32, {2, 4, 64}});
    const Tensor ks = g.input("k", {q8_0, cache_shape(9, 2, 64)}),
                 vs = g.input("v", {f32, cache_shape(9, 2, 32)});
    g.output("y", attention(q, ks, vs, runs_inputs(g, 2, 9), {.scale = 0.125f}));
    return g;
  };
  const Graph blocks = graph(true), plain = graph(false);
  Evaluator eval(blocks, kPadded), decoded(plain, kPadded);
  for (Evaluator* e : {&eval, &decoded}) {
    e->floats("q", e == &eval ? noise(512, 1) : eval.floats("q"));
    e->floats("k", noise(64 * 128, 2)).floats("v", noise(64 * 64, 3));
    set_runs(*e, {0, 2}, {8, 5}).run();
  }
  CHECK(eval.floats("q") != noise(512, 1));
  CHECK(eval.floats("y") == decoded.floats("y"));
  CHECK(eval.bounds("y") == decoded.bounds("y"));
}

TEST_CASE("attention: costs count the bytes of quantized caches") {
  const AttentionAttrs attrs;
  const auto read = [&](DType k, DType v) {
    const std::vector<TensorSpec> in{{f32, {1, 4, 64}},
                                     {k, cache_shape(128, 2, 64)},
                                     {v, cache_shape(128, 2, 64)},
                                     {i32, {1, 2}},
                                     {i32, {1}},
                                     {i32, {1}},
                                     {i32, {1}}};
    return kAttention.cost(attrs, in, kAttention.infer(attrs, in), {}).bytes_read;
  };
  const std::int64_t rest = 4 * 64 * 4 + 8 + 12;
  CHECK(read(f16, f16) == 2 * 128 * 256 + rest);
  CHECK(read(q8_0, q4_0) == 128 * 4 * 34 + 128 * 4 * 18 + rest);
}

TEST_CASE("attention: columns map to whole heads") {
  const std::vector<TensorSpec> in{{f32, {1, 8, 64}},
                                   {f16, {9, 2, 64, 64}},
                                   {f16, {9, 2, 64, 32}},
                                   {i32, {1, 9}},
                                   {i32, {1}},
                                   {i32, {1}},
                                   {i32, {1}}};
  const AttentionAttrs attrs;
  const TensorSpec out = kAttention.infer(attrs, in);
  CHECK(to_string(out) == "F32 [1, 8, 32]");
  CHECK(kAttention.col_granule(attrs, in, out) == 32);
  CHECK(kAttention.map_cols(attrs, in, 0, {4 * 32, 8 * 32}) == ColRange{4 * 64, 8 * 64});
  CHECK(kAttention.map_cols(attrs, in, 1, {4 * 32, 8 * 32}) == ColRange{64 * 64, 64 * 128});
  CHECK(kAttention.map_cols(attrs, in, 2, {3 * 32, 5 * 32}) == ColRange{0, 64 * 64});
  CHECK(kAttention.map_cols(attrs, in, 2, {0, 4 * 32}) == ColRange{0, 64 * 32});
}

TEST_CASE("attention: blocks are found by the table of the token's sequence") {
  const auto graph = [](std::int64_t n_sequences) {
    Graph g;
    const Tensor q = g.input("q", {f32, {3, 2, 8}});
    const Tensor k = g.input("k", {f32, cache_shape(6 * 64, 1, 8)}),
                 v = g.input("v", {f32, cache_shape(6 * 64, 1, 8)});
    const AttentionRuns runs = runs_inputs(g, 3, 3 * 64, n_sequences);
    g.output("y", attention(q, k, v, runs, {.scale = 0.4f}));
    return g;
  };
  const std::size_t block = 64 * 8;
  const Floats q = noise(48, 1), k = noise(6 * block, 2), v = noise(6 * block, 3);
  const std::vector<std::int32_t> first{0, 70, 3}, last{150, 130, 63};
  const Graph two = graph(2), one = graph(1);
  Evaluator eval(two, kPadded);
  eval.floats("q", q).floats("k", k).floats("v", v).ints("table_row", {1, 1, 0});
  // Entries that no run needs may have any value.
  eval.ints("table", {3, 1 << 30, -1, 5, 3, 0}).ints("first", first).ints("last", last).run();
  const auto moved = [&](const Floats& from, const std::vector<std::size_t>& blocks) {
    Floats to(6 * block, NAN);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      std::copy_n(&from[blocks[i] * block], block, &to[i * block]);
    return to;
  };
  for (std::size_t t = 0; t < 3; ++t) {
    const auto blocks = t == 2 ? std::vector<std::size_t>{3} : std::vector<std::size_t>{5, 3, 0};
    Evaluator in_order(one, kPadded);
    in_order.floats("q", q).floats("k", moved(k, blocks)).floats("v", moved(v, blocks));
    const std::vector<std::int32_t> from(3, first[t]), to(3, last[t]);
    set_runs(in_order, from, to).run();
    const Floats y = eval.floats("y"), expected = in_order.floats("y");
    for (std::size_t i = t * 16; i < (t + 1) * 16; ++i) CHECK(y[i] == expected[i]);
  }
}

TEST_CASE("attention: invalid arguments") {
  const TensorSpec q{f32, {2, 4, 8}}, k{f16, {9, 2, 64, 8}}, v{f16, {9, 2, 64, 6}}, ids{i32, {2}};
  const AttentionAttrs attrs;
  const TensorSpec table{i32, {3, 5}};
  const auto refused = [&](const TensorSpec& a, const TensorSpec& b, const TensorSpec& c,
                           const TensorSpec& d, const TensorSpec& e) {
    return refusal(kAttention, attrs, {a, b, c, table, ids, d, e});
  };
  CHECK(refusal(kAttention, AttentionAttrs{INFINITY}, {q, k, v, table, ids, ids, ids}) ==
        "ValueError: scale must be finite, got inf");
  CHECK(refused({f16, {2, 4, 8}}, k, v, ids, ids) == "DTypeError: q must be F32, got F16");
  CHECK(refused({f32, {2, 32}}, k, v, ids, ids) == "ShapeError: q must be [T, H, E], got [2, 32]");
  CHECK(refused(q, {i32, {9, 2, 64, 8}}, v, ids, ids) ==
        "DTypeError: k must have a cache type (F32, F16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0), got I32");
  CHECK(refused(q, {f16, {9, 2, 32, 8}}, v, ids, ids) ==
        "ShapeError: k must be [B, G, 64, E], got [9, 2, 32, 8]");
  CHECK(refused(q, {q8_0, {9, 2, 64, 8}}, v, ids, ids) ==
        "ShapeError: k must be [B, G, 64, E] with E a multiple of 32 for Q8_0, got [9, 2, 64, 8]");
  CHECK(refused(q, {f16, {9, 2, 64, 7}}, v, ids, ids) ==
        "ShapeError: k must be [B, G, 64, 8] with G a divisor of 4, got [9, 2, 64, 7]");
  CHECK(refused(q, {f16, {9, 3, 64, 8}}, v, ids, ids) ==
        "ShapeError: k must be [B, G, 64, 8] with G a divisor of 4, got [9, 3, 64, 8]");
  CHECK(refused(q, k, {q4_0, {9, 2, 64, 6}}, ids, ids) ==
        "ShapeError: v must be [B, G, 64, E] with E a multiple of 32 for Q4_0, got [9, 2, 64, 6]");
  CHECK(refused(q, k, {f16, {8, 2, 64, 6}}, ids, ids) ==
        "ShapeError: v must be [9, 2, 64, E'], got [8, 2, 64, 6]");
  CHECK(refused(q, k, v, {f32, {2}}, ids) == "DTypeError: first must be I32, got F32");
  CHECK(refused(q, k, v, {i32, {3}}, ids) == "ShapeError: first must be [2], got [3]");
  CHECK(refused(q, k, v, ids, {f32, {2}}) == "DTypeError: last must be I32, got F32");
  CHECK(refused(q, k, v, ids, {i32, {1}}) == "ShapeError: last must be [2], got [1]");
  CHECK(refusal(kAttention, attrs, {q, k, v, {f32, {3, 5}}, ids, ids, ids}) ==
        "DTypeError: table must be I32, got F32");
  CHECK(refusal(kAttention, attrs, {q, k, v, ids, ids, ids, ids}) ==
        "ShapeError: table must be [Q, M], got [2]");
  CHECK(refusal(kAttention, attrs, {q, k, v, table, {i32, {3}}, ids, ids}) ==
        "ShapeError: table_row must be [2], got [3]");
}

}  // namespace
}  // namespace weft
