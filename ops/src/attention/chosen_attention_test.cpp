#include "weft/ops/attention/chosen_attention.h"

#include "weft/ops/attention/cache_cells.h"

#include "op_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

// One token and one kv head, values are numbers. Attention is to positions first .. the last key.
struct Setup {
  std::int64_t n_keys = 1, heads = 1, e = 1;
  ChosenAttentionAttrs attrs = {};
  Floats q = Floats(static_cast<std::size_t>(heads * e));
  Floats k = Floats(static_cast<std::size_t>(n_keys * e));
  Floats v = Floats(static_cast<std::size_t>(n_keys), 1);
  std::vector<Ints> chosen = {{0}};  // [C][K]
  Floats sinks = {};
  std::int32_t first = 0;
  bool plain = false;  // attention instead

  // Runs it; of the definition if `f` is floats, its bounds if it is bounds.
  template <class F>
  Floats get(F f) const {
    Graph g;
    const Tensor qs = g.input("q", {f32, {1, heads, e}}),
                 ks = g.input("k", {f32, cache_shape(n_keys, 1, e)}),
                 vs = g.input("v", {f32, cache_shape(n_keys, 1, 1)}),
                 numbers = g.input("chosen", {i32, {1, std::ssize(chosen), std::ssize(chosen[0])}});
    const AttentionRuns runs = runs_inputs(g, 1, n_keys);
    const Tensor sink = sinks.empty() ? Tensor() : g.weight("sinks", {f32, {heads}});
    g.output("y", plain ? attention(qs, ks, vs, runs, {attrs.scale})
                        : chosen_attention(qs, ks, vs, runs, numbers, attrs, sink));
    Evaluator eval(g, kPadded);
    eval.floats("q", q).floats("k", in_cells(k, 1, e)).floats("v", in_cells(v, 1, 1));
    Ints all;
    for (const Ints& c : chosen) all.insert(all.end(), c.begin(), c.end());
    eval.ints("chosen", all);
    if (sink) eval.floats("sinks", sinks);
    set_runs(eval, {first}, {static_cast<std::int32_t>(n_keys - 1)}).run();
    return f(eval);
  }
  Floats y() const {
    return get([](const Evaluator& eval) { return eval.floats("y"); });
  }
  Floats bounds() const {
    return get([](const Evaluator& eval) { return eval.bounds("y"); });
  }
};

TEST_CASE("chosen_attention: only the chosen positions of the run count") {
  Setup s{.n_keys = 5, .v = {1, 10, 100, 1000, 10000}};
  s.chosen = {{1, 3}};
  CHECK(s.y() == Floats{505});
  s.chosen = {{1, 3, -1, -1}};
  CHECK(s.y() == Floats{505});
  s.first = 2;
  CHECK(s.y() == Floats{1000});
  s.chosen = {{3, 9}};  // behind the run
  CHECK(s.y() == Floats{1000});
  s.k[0] = s.k[1] = s.k[2] = NAN;
  CHECK(s.y() == Floats{1000});
}

TEST_CASE("chosen_attention: without any position the result is 0") {
  Setup s{.n_keys = 3, .v = {1, 2, 3}, .chosen = {{-1, -1}}};
  CHECK(s.y() == Floats{0});
  CHECK(s.bounds()[0] < 1e-30f);
  s.sinks = {0};
  CHECK(s.y() == Floats{0});
  s = {.n_keys = 3, .v = {1, 2, 3}, .chosen = {{0}}, .first = 1};
  CHECK(s.y() == Floats{0});
}

TEST_CASE(
    "chosen_attention: numbers are those of spans, and the run may have only part of a span") {
  Setup s{.n_keys = 6, .attrs = {.span = 4}, .v = {1, 3, 10, 20, 5, 7}};
  CHECK(s.y() == Floats{8.5f});
  s.chosen = {{1}};
  CHECK(s.y() == Floats{6});
  s.chosen = {{0, 1}}, s.first = 3;
  check_close(s.y(), {32.0f / 3}, s.bounds());
  s.attrs.span = INT32_MAX, s.chosen = {{0, 1, INT32_MAX}};
  check_close(s.y(), {32.0f / 3}, s.bounds());
}

TEST_CASE("chosen_attention: neighbouring heads share a choice") {
  Setup s{.n_keys = 3, .heads = 4, .v = {1, 2, 3}};
  s.chosen = {{0}, {2}};
  CHECK(s.y() == Floats{1, 1, 3, 3});
  s.chosen = {{1}};
  CHECK(s.y() == Floats{2, 2, 2, 2});
}

TEST_CASE("chosen_attention: a sink takes its share") {
  const float ln3 = static_cast<float>(std::log(3.0));
  const Setup s{.n_keys = 2, .v = {8, 0}, .chosen = {{0}}, .sinks = {ln3}};
  check_close(s.y(), {2}, s.bounds());
}

TEST_CASE("chosen_attention: if all positions are chosen, the bits of attention") {
  for (std::uint32_t seed = 1; seed < 8; ++seed) {
    const std::int64_t n = seed * 21;
    Setup s{.n_keys = n,
            .heads = 2,
            .e = 5,
            .attrs = {.scale = 0.5f},
            .q = noise(10, seed),
            .k = noise(static_cast<std::size_t>(n * 5), seed + 50),
            .v = noise(static_cast<std::size_t>(n), seed + 100)};
    s.chosen = {Ints(static_cast<std::size_t>(n))};
    std::iota(s.chosen[0].begin(), s.chosen[0].end(), 0);
    const Floats y = s.y(), bounds = s.bounds();
    s.attrs.span = 8, s.chosen = {Ints(static_cast<std::size_t>(n) / 8 + 1)};
    std::iota(s.chosen[0].begin(), s.chosen[0].end(), 0);
    CHECK(s.y() == y);
    s.plain = true;
    CHECK(s.y() == y);
    CHECK(s.bounds() == bounds);
  }
}

// In plain f32, or with a mistake: a position of a choice is left out.
Floats plain_f32(const Setup& s, bool mistake) {
  Floats y;
  const auto e = static_cast<std::size_t>(s.e);
  for (std::size_t h = 0; h < static_cast<std::size_t>(s.heads); ++h) {
    Floats scores, values;
    for (const std::int32_t n : s.chosen[0]) {
      if (mistake && n == s.chosen[0].back()) continue;
      const auto at = static_cast<std::size_t>(n);
      float x = 0;
      for (std::size_t i = 0; i < e; ++i) x += s.q[h * e + i] * s.k[at * e + i];
      scores.push_back(x * s.attrs.scale);
      values.push_back(s.v[at]);
    }
    const float max = *std::max_element(scores.begin(), scores.end());
    float sum = 0, total = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const float p = std::exp(scores[i] - max);
      sum += p;
      total += p * values[i];
    }
    y.push_back(total / sum);
  }
  return y;
}

TEST_CASE("chosen_attention: plain f32 keeps within the bound, a missing position does not") {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    CAPTURE(seed);
    const std::int64_t n = seed * 9, e = seed % 2 ? 64 : 5;
    Setup s{.n_keys = n,
            .heads = 3,
            .e = e,
            .attrs = {.scale = 0.5f},
            .q = noise(static_cast<std::size_t>(3 * e), seed),
            .k = noise(static_cast<std::size_t>(n * e), seed + 100),
            .v = noise(static_cast<std::size_t>(n), seed + 200)};
    s.chosen = {{}};
    for (std::int32_t i = 0; i < n; i += 3) s.chosen[0].push_back(i);
    check_close(plain_f32(s, false), s.y(), s.bounds());
    CHECK(worst_of(plain_f32(s, true), s.y(), s.bounds()).excess > 10);
  }
}

TEST_CASE("chosen_attention: work is that of the positions that may be chosen") {
  const TensorSpec q{f32, {2, 4, 8}}, kv{f16, {9, 2, 64, 8}}, table{i32, {3, 5}}, ids{i32, {2}};
  const auto work = [&](std::int64_t k, std::int32_t span) {
    const std::vector<TensorSpec> in{q, kv, kv, table, ids, ids, ids, {i32, {2, 1, k}}, {}};
    const ChosenAttentionAttrs attrs{.span = span};
    return kChosenAttention.cost(attrs, in, kChosenAttention.infer(attrs, in), {}).multiply_adds;
  };
  CHECK(work(6, 1) == 2 * 4 * 6 * 16);
  CHECK(work(6, 4) == 2 * 4 * 24 * 16);
  CHECK(work(6, 128) == 2 * 4 * 320 * 16);  // no more than a sequence has
}

TEST_CASE("chosen_attention: invalid arguments") {
  const TensorSpec q{f32, {2, 4, 8}}, kv{f16, {9, 2, 64, 8}}, table{i32, {3, 5}}, ids{i32, {2}};
  const auto refused = [&](const ChosenAttentionAttrs& a, const TensorSpec& chosen,
                           const TensorSpec& sinks = {}) {
    return refusal(kChosenAttention, a, {q, kv, kv, table, ids, ids, ids, chosen, sinks});
  };
  CHECK(refused({}, {i32, {2, 2, 7}}, {f32, {4}}) == "accepted");
  CHECK(refused({.scale = NAN}, {i32, {2, 2, 7}}) == "ValueError: scale must be finite, got nan");
  CHECK(refused({.span = 0}, {i32, {2, 2, 7}}) == "ValueError: span must be at least 1, got 0");
  CHECK(refused({}, {f32, {2, 2, 7}}) == "DTypeError: chosen must be I32, got F32");
  CHECK(refused({}, {i32, {2, 3, 7}}) ==
        "ShapeError: chosen must be [2, C, K] with C a divisor of 4, got [2, 3, 7]");
  CHECK(refused({}, {i32, {3, 2, 7}}) ==
        "ShapeError: chosen must be [2, C, K] with C a divisor of 4, got [3, 2, 7]");
  CHECK(refused({}, {i32, {2, 7}}) ==
        "ShapeError: chosen must be [2, C, K] with C a divisor of 4, got [2, 7]");
  CHECK(refused({}, {i32, {2, 2, 7}}, {f32, {2}}) == "ShapeError: sinks must be [4], got [2]");
  CHECK(refused({}, {i32, {2, 2, 7}}, {f16, {4}}) == "DTypeError: sinks must be F32, got F16");
}

}  // namespace
}  // namespace weft
