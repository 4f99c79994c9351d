#include "weft/ops/positions/rope_angles.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Floats angles_at(std::int32_t pos, const RopeAttrs& attrs, const Floats& factors = {}) {
  Graph g;
  const Tensor p = g.input("pos", {i32, {1}});
  Tensor f;
  if (!factors.empty()) f = g.weight("f", {f32, {static_cast<std::int64_t>(factors.size())}});
  g.output("y", rope_angles(p, attrs, f));
  Evaluator eval(g, kPadded);
  eval.ints("pos", {pos});
  if (f) eval.floats("f", factors);
  return eval.run().floats("y");
}

// (m cos, m sin) of the given angles.
Floats turned(std::initializer_list<double> angles, double m = 1) {
  Floats y;
  for (const double a : angles) {
    y.push_back(static_cast<float>(m * std::cos(a)));
    y.push_back(static_cast<float>(m * std::sin(a)));
  }
  return y;
}

TEST_CASE("rope_angles: frequencies fall with the pair") {
  CHECK(angles_at(3, {.n_rot = 4, .base = 100}) == turned({3, 3 / 10.0}));
  CHECK(angles_at(0, {.n_rot = 4}) == Floats{1, 0, 1, 0});
  CHECK(angles_at(-3, {.n_rot = 2}) == turned({-3}));
}

TEST_CASE("rope_angles: linear scaling, factors and magnitude") {
  const RopeAttrs attrs{.n_rot = 4, .base = 100, .freq_scale = 0.25f, .attn_factor = 2};
  CHECK(angles_at(8, attrs) == turned({2, 0.2}, 2));
  CHECK(angles_at(8, {.n_rot = 4, .base = 100}, {1, 4}) == turned({8, 0.2}));
}

TEST_CASE("rope_angles: pairs outside of the sections do not turn") {
  const RopeAttrs whole{.n_rot = 12, .base = 100};
  const Floats all = angles_at(3, whole);
  const auto check_turning = [&](RopeAttrs attrs, const std::vector<bool>& turns) {
    attrs.n_rot = whole.n_rot, attrs.base = whole.base;
    const Floats y = angles_at(3, attrs);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      CAPTURE(i);
      CHECK(y[2 * i] == (turns[i] ? all[2 * i] : 1));
      CHECK(y[2 * i + 1] == (turns[i] ? all[2 * i + 1] : 0));
    }
  };
  check_turning({.time = 1, .height = 2, .width = 1}, {true, true, true, true, false, false});
  check_turning({.time = 2, .height = 2, .width = 2}, {true, true, true, true, true, true});
  check_turning({.time = 2, .height = 1, .width = 0, .interleaved = true},
                {true, true, false, true, false, false});
}

TEST_CASE("rope_angles: YaRN blends between its two corner pairs") {
  // base = 16 and R = 8: pair i turns C / (2 pi 16^(i/4)) = C / (2 pi 2^i) times in C positions.
  // With C = 2 pi 2^6: beta_fast = 32 turns at pair 1, beta_slow = 8 at pair 3 (402 is a little
  // below 2 pi 64, so that floor and ceil give 0 and 3).
  const RopeAttrs attrs{.n_rot = 8,
                        .base = 16,
                        .freq_scale = 0.5f,
                        .ext_factor = 1,
                        .beta_fast = 32,
                        .beta_slow = 8,
                        .original_context = 402};
  const double m = 1 + 0.1 * std::log(2.0), third = 1 / 3.0;
  const auto blend = [](double angle, double kept) { return angle * (kept + (1 - kept) / 2); };
  const Floats expected =
      turned({5, blend(2.5, 1 - third), blend(1.25, 1 - 2 * third), blend(0.625, 0)}, m);
  const Floats y = angles_at(5, attrs);
  REQUIRE(y.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(std::fabs(y[i] - expected[i]) <= four_ulps(expected[i]));
  }
}

TEST_CASE("rope_angles: YaRN with freq_scale 1 is plain") {
  const RopeAttrs yarn{.n_rot = 8, .ext_factor = 1, .original_context = 4096};
  CHECK(angles_at(77, yarn) == angles_at(77, {.n_rot = 8}));
}

TEST_CASE("rope_angles: angles in plain f32 keep within the bound") {
  Graph g;
  g.output("y", rope_angles(g.input("pos", {i32, {1}}), {.n_rot = 64}));
  for (const std::int32_t pos : {1, 100, 131071}) {
    Evaluator eval(g, kPadded);
    eval.ints("pos", {pos}).run();
    Floats plain;
    for (int i = 0; i < 32; ++i) {
      const float angle = static_cast<float>(pos) * std::pow(10000.0f, static_cast<float>(-i) / 32);
      plain.push_back(std::cos(angle));
      plain.push_back(std::sin(angle));
    }
    check_close(plain, eval.floats("y"), eval.bounds("y"));
  }
}

TEST_CASE("rope_angles: invalid arguments") {
  const TensorSpec pos{i32, {2}};
  const auto refused = [&](const RopeAttrs& a) { return refusal(kRopeAngles, a, {pos}); };
  CHECK(refused({.n_rot = 0}) == "ValueError: n_rot must be even and at least 2, got 0");
  CHECK(refused({.n_rot = 7}) == "ValueError: n_rot must be even and at least 2, got 7");
  CHECK(refused({.n_rot = 8, .base = 0}) == "ValueError: base must be positive and finite, got 0");
  CHECK(refused({.n_rot = 8, .freq_scale = -1}) ==
        "ValueError: freq_scale must be positive and finite, got -1");
  CHECK(refused({.n_rot = 8, .ext_factor = NAN}) ==
        "ValueError: ext_factor must be finite, got nan");
  CHECK(refused({.n_rot = 8, .attn_factor = NAN}) ==
        "ValueError: attn_factor must be finite, got nan");
  CHECK(refused({.n_rot = 8, .height = -1}) ==
        "ValueError: sections must not be negative, got 0, -1, 0");
  CHECK(refused({.n_rot = 8, .ext_factor = 1}) ==
        "ValueError: original_context must be positive and finite, got 0");
  CHECK(refused({.n_rot = 8, .ext_factor = 1, .beta_fast = 0}) ==
        "ValueError: beta_fast must be positive and finite, got 0");
  CHECK(refused({.n_rot = 8, .ext_factor = 1, .beta_slow = -2}) ==
        "ValueError: beta_slow must be positive and finite, got -2");
  CHECK(refused({.n_rot = 8, .base = 1, .ext_factor = 1, .original_context = 9}) ==
        "ValueError: base must not be 1 with YaRN");
  const RopeAttrs good{.n_rot = 8};
  CHECK(refusal(kRopeAngles, good, {{f32, {2}}}) == "DTypeError: pos must be I32, got F32");
  CHECK(refusal(kRopeAngles, good, {{i32, {2, 1}}}) == "ShapeError: pos must be [T], got [2, 1]");
  CHECK(refusal(kRopeAngles, good, {pos, {f16, {4}}}) ==
        "DTypeError: factors must be F32, got F16");
  CHECK(refusal(kRopeAngles, good, {pos, {f32, {8}}}) ==
        "ShapeError: factors must be [4], got [8]");
}

}  // namespace
}  // namespace weft
