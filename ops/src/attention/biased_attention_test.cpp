#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"

#include "op_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace test;

// One token that attends to positions 0 .. n_keys - 1, with one kv head; values are n_keys numbers.
struct Setup {
  std::int64_t n_keys = 1, heads = 1, e = 1;
  float scale = 1, softcap = 0, alibi = 0;
  Floats q = Floats(static_cast<std::size_t>(heads * e));
  Floats k = Floats(static_cast<std::size_t>(n_keys * e));
  Floats v = Floats(static_cast<std::size_t>(n_keys), 1);
  std::vector<std::int32_t> pos = {};
  Floats sinks = {}, distances = {};

  // Runs it; of the definition if `f` is floats, its bounds if it is bounds.
  template <class F>
  Floats get(F f) const {
    Graph g;
    AttentionBias bias{.softcap = softcap, .alibi = alibi};
    const Tensor qs = g.input("q", {f32, {1, heads, e}}),
                 ks = g.input("k", {f32, cache_shape(n_keys, 1, e)}),
                 vs = g.input("v", {f32, cache_shape(n_keys, 1, 1)});
    const AttentionRuns runs = runs_inputs(g, 1, n_keys);
    if (!pos.empty()) bias.pos = g.input("pos", {i32, {1}});
    if (!sinks.empty()) bias.sinks = g.weight("sinks", {f32, {heads}});
    if (!distances.empty())
      bias.distances = g.weight("distances", {f32, {std::ssize(distances) / heads, heads}});
    g.output("y", attention(qs, ks, vs, runs, {.scale = scale}, bias));
    Evaluator eval(g, kPadded);
    eval.floats("q", q).floats("k", in_cells(k, 1, e)).floats("v", in_cells(v, 1, 1));
    if (!pos.empty()) eval.ints("pos", pos);
    if (!sinks.empty()) eval.floats("sinks", sinks);
    if (!distances.empty()) eval.floats("distances", distances);
    set_runs(eval, {0}, {static_cast<std::int32_t>(n_keys - 1)}).run();
    return f(eval);
  }
  Floats y() const {
    return get([](const Evaluator& eval) { return eval.floats("y"); });
  }
  Floats bounds() const {
    return get([](const Evaluator& eval) { return eval.bounds("y"); });
  }
};

float log_of(double x) {
  return static_cast<float>(std::log(x));
}

TEST_CASE("biased_attention: used if there is something to add") {
  Graph g;
  const Tensor q = g.input("q", {f32, {1, 2, 8}}), k = g.input("k", {f32, cache_shape(1, 1, 8)}),
               pos = g.input("pos", {i32, {1}}), sinks = g.weight("sinks", {f32, {2}}),
               distances = g.weight("distances", {f32, {3, 2}});
  const AttentionRuns runs = runs_inputs(g, 1, 1);
  const auto op = [&](const AttentionBias& bias) {
    return g[attention(q, k, k, runs, {}, bias).id()].op;
  };
  CHECK(op({}) == &kAttention);
  CHECK(op({.pos = pos}) == &kAttention);
  CHECK(op({.softcap = 30}) == &kBiasedAttention);
  CHECK(op({.alibi = 8}) == &kBiasedAttention);
  CHECK(op({.sinks = sinks}) == &kBiasedAttention);
  CHECK(op({.distances = distances}) == &kBiasedAttention);
}

TEST_CASE("biased_attention: nothing to add gives what attention gives") {
  const Setup plain{
      .n_keys = 70, .heads = 3, .e = 8, .q = noise(24, 1), .k = noise(560, 2), .v = noise(70, 3)};
  Setup none = plain;
  none.sinks = Floats(3, -INFINITY);
  CHECK(none.y() == plain.y());
  Setup zeros = plain;
  zeros.distances = Floats(15);
  CHECK(zeros.y() == plain.y());
}

TEST_CASE("biased_attention: softcap bends scores, by hand") {
  // 2 tanh(x / 2) = ln 3: weights 1/4 and 3/4.
  const float x = static_cast<float>(2 * std::atanh(std::log(3.0) / 2));
  const Setup s{.n_keys = 2, .scale = 0.5f, .softcap = 2, .q = {2}, .k = {0, x}, .v = {4, 8}};
  check_close(s.y(), {7}, s.bounds());
  // No score is above the cap.
  const Setup large{
      .n_keys = 2, .softcap = log_of(3) / 2, .q = {1}, .k = {-1e9f, 1e9f}, .v = {4, 8}};
  check_close(large.y(), {7}, large.bounds());
}

TEST_CASE("biased_attention: slopes of ALiBi, for 8 heads and for 6") {
  const auto check_slopes = [](float alibi, const std::vector<double>& slopes) {
    const Setup s{.n_keys = 3, .heads = std::ssize(slopes), .alibi = alibi, .v = {0, 0, 1}};
    Floats expected;
    for (const double m : slopes)
      expected.push_back(static_cast<float>(1 / (1 + std::exp(-m) + std::exp(-2 * m))));
    CHECK(s.y() == expected);
  };
  check_slopes(8, {0.5, 0.25, 0.125, 0.0625, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
  check_slopes(8, {0.25, 0x1p-4, 0x1p-6, 0x1p-8, 0.5, 0x1p-3});
  check_slopes(8, {0x1p-8});
  check_slopes(2, {0.5, 0.25, std::exp2(-0.5)});
}

TEST_CASE("biased_attention: ALiBi counts the distance from pos on both sides") {
  Setup s{.n_keys = 5, .alibi = 1, .pos = {2}};  // slope 1/2
  double sum = 1 + 2 * std::exp(-0.5) + 2 * std::exp(-1.0);
  for (const auto& [key, distance] : {std::pair{0, 2}, {1, 1}, {2, 0}, {3, 1}, {4, 2}}) {
    s.v = Floats(5);
    s.v[static_cast<std::size_t>(key)] = 1;
    CHECK(s.y()[0] == static_cast<float>(std::exp(-0.5 * distance) / sum));
  }
}

TEST_CASE("biased_attention: a sink takes its share and gives nothing, each head has its own") {
  const Setup s{.heads = 4, .v = {8}, .sinks = {log_of(3), 0, 1e9f, -1e9f}};
  check_close(s.y(), {2, 4, 0, 8}, s.bounds());
}

TEST_CASE("biased_attention: distances, by hand: ends hold for all beyond, each head has its own") {
  // d = s - pos = -4 .. 2, r = 2; rows for d = -2, -1, 0, 1, 2.
  Setup s{.n_keys = 7, .heads = 2, .pos = {4}};
  s.distances = {log_of(2), log_of(7), log_of(3), log_of(1), log_of(5),
                 log_of(1), log_of(1), log_of(4), log_of(6), log_of(2)};
  const double first[] = {2, 2, 2, 3, 5, 1, 6}, second[] = {7, 7, 7, 1, 1, 4, 2};
  for (std::size_t key = 0; key < 7; ++key) {
    s.v = Floats(7);
    s.v[key] = 1;
    check_close(s.y(), {static_cast<float>(first[key] / 21), static_cast<float>(second[key] / 29)},
                Floats(2, 2e-7f));
  }
}

TEST_CASE("biased_attention: without pos the token is at its last position") {
  Setup s{.n_keys = 6, .heads = 2, .alibi = 3, .v = noise(6, 1), .distances = noise(6, 2)};
  const Floats y = s.y();
  s.pos = {5};
  CHECK(s.y() == y);
  s.pos = {4};
  CHECK(s.y() != y);
}

// All parts at once in plain f32, and with a mistake.
enum class Mistake { none, sink, distance, cap };

Floats plain_f32(const Setup& s, const Floats& slopes, Mistake mistake = Mistake::none) {
  const auto e = static_cast<std::size_t>(s.e), heads = static_cast<std::size_t>(s.heads);
  const std::int64_t r = std::ssize(s.distances) / s.heads / 2;
  Floats y;
  for (std::size_t h = 0; h < heads; ++h) {
    Floats scores;
    for (std::int64_t n = 0; n < s.n_keys; ++n) {
      float x = 0;
      for (std::size_t i = 0; i < e; ++i)
        x += s.q[h * e + i] * s.k[static_cast<std::size_t>(n) * e + i];
      x *= s.scale;
      if (mistake != Mistake::cap) x = s.softcap * std::tanh(x / s.softcap);
      const std::int64_t d = n - s.pos[0], off = mistake == Mistake::distance ? 1 : 0;
      x -= slopes[h] * static_cast<float>(std::abs(d));
      const auto row = static_cast<std::size_t>(std::clamp(d + off, -r, r) + r);
      scores.push_back(x + s.distances[row * heads + h]);
    }
    const float max = std::max(s.sinks[h], *std::max_element(scores.begin(), scores.end()));
    float sum = mistake == Mistake::sink ? 0 : std::exp(s.sinks[h] - max), total = 0;
    for (std::size_t n = 0; n < scores.size(); ++n) {
      const float p = std::exp(scores[n] - max);
      sum += p;
      total += p * s.v[n];
    }
    y.push_back(total / sum);
  }
  return y;
}

TEST_CASE("biased_attention: plain f32 keeps within the bound, mistakes do not") {
  const Floats slopes{0.5f, 0.25f, 0.70710678f};  // ALiBi slopes for 2 and 3 heads
  for (std::uint32_t seed = 1; seed < 30; ++seed) {
    CAPTURE(seed);
    const std::int64_t n = seed * 9, e = seed % 2 ? 64 : 5;
    Setup s{.n_keys = n,
            .heads = 3,
            .e = e,
            .scale = 0.5f,
            .softcap = 1.5f,
            .alibi = 2,
            .q = noise(static_cast<std::size_t>(3 * e), seed),
            .k = noise(static_cast<std::size_t>(n * e), seed + 100),
            .v = noise(static_cast<std::size_t>(n), seed + 200),
            .pos = {static_cast<std::int32_t>(n / 2)},
            .sinks = noise(3, seed + 300),
            .distances = noise(27, seed + 400)};
    const Floats y = s.y(), bounds = s.bounds();
    check_close(plain_f32(s, slopes), y, bounds);
    for (const Mistake m : {Mistake::sink, Mistake::distance, Mistake::cap})
      CHECK(worst_of(plain_f32(s, slopes, m), y, bounds).excess > 10);
  }
}

TEST_CASE("biased_attention: parts of a bias that cancel keep within the bound") {
  // Positions 0 and 1 of a token at 3000: slope * 3000 and a distance bias that cancels it.
  const float slope = static_cast<float>(std::exp2(-0.1));
  for (const float other : {2799.1f, 2799.0f, 2798.3f}) {
    Setup s{.n_keys = 2, .softcap = 100, .alibi = 0.1f, .v = {1, -1}, .pos = {3000}};
    s.sinks = {0}, s.distances = {other, 0, 0};
    check_close(plain_f32(s, {slope}), s.y(), s.bounds());
  }
}

TEST_CASE("biased_attention: invalid arguments") {
  const TensorSpec q{f32, {2, 4, 8}}, kv{f16, {9, 2, 64, 8}}, table{i32, {3, 5}}, ids{i32, {2}};
  const auto refused = [&](const TensorSpec& pos, const TensorSpec& sinks,
                           const TensorSpec& distances) {
    return refusal(kBiasedAttention, BiasedAttentionAttrs{},
                   {q, kv, kv, table, ids, ids, ids, pos, sinks, distances});
  };
  const auto refused_attrs = [&](const BiasedAttentionAttrs& attrs) {
    return refusal(kBiasedAttention, attrs, {q, kv, kv, table, ids, ids, ids});
  };
  CHECK(refused(ids, {f32, {4}}, {f32, {1, 4}}) == "accepted");
  CHECK(refused({f32, {2}}, {}, {}) == "DTypeError: pos must be I32, got F32");
  CHECK(refused({i32, {3}}, {}, {}) == "ShapeError: pos must be [2], got [3]");
  CHECK(refused({}, {f16, {4}}, {}) == "DTypeError: sinks must be F32, got F16");
  CHECK(refused({}, {f32, {2}}, {}) == "ShapeError: sinks must be [4], got [2]");
  CHECK(refused({}, {}, {f16, {3, 4}}) == "DTypeError: distances must be F32, got F16");
  CHECK(refused({}, {}, {f32, {4, 4}}) == "ShapeError: distances must be [2 r + 1, 4], got [4, 4]");
  CHECK(refused({}, {}, {f32, {3, 2}}) == "ShapeError: distances must be [2 r + 1, 4], got [3, 2]");
  CHECK(refused({}, {}, {f32, {12}}) == "ShapeError: distances must be [2 r + 1, 4], got [12]");
  CHECK(refused_attrs({.scale = NAN}) == "ValueError: scale must be finite, got nan");
  CHECK(refused_attrs({.softcap = INFINITY}) == "ValueError: softcap must be finite, got inf");
  CHECK(refused_attrs({.alibi = NAN}) == "ValueError: alibi must be finite, got nan");
  CHECK(refusal(kBiasedAttention, BiasedAttentionAttrs{},
                {{f16, {2, 4, 8}}, kv, kv, table, ids, ids, ids}) ==
        "DTypeError: q must be F32, got F16");
}

}  // namespace
}  // namespace weft
