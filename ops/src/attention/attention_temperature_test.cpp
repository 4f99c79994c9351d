#include "weft/ops/attention/attention_temperature.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

// x at every position, by the definition.
struct Setup {
  Setup(const Floats& x, const std::vector<std::int32_t>& pos, const TemperatureAttrs& attrs) {
    const std::int64_t n = std::ssize(pos), width = std::ssize(x) / n;
    Graph g;
    g.output("y", attention_temperature(g.input("x", {f32, {n, width}}), g.input("pos", {i32, {n}}),
                                        attrs));
    Evaluator eval(g, kPadded);
    eval.floats("x", x).ints("pos", pos).run();
    y = eval.floats("y");
    bounds = eval.bounds("y");
  }
  Floats y, bounds;
};

TEST_CASE("attention_temperature: grows with every `length` positions") {
  const Setup s({1, 2, 3, 4, 5, -6}, {0, 2, 3, 6, 7, 11},
                {.scale = 0.5f, .length = 4, .offset = 1});
  const double two = 1 + 0.5 * std::log(2.0), three = 1 + 0.5 * std::log(3.0),
               four = 1 + 0.5 * std::log(4.0);
  CHECK(s.y == Floats{1, 2, static_cast<float>(3 * two), static_cast<float>(4 * two),
                      static_cast<float>(5 * three), static_cast<float>(-6 * four)});
}

TEST_CASE("attention_temperature: a scale of 0 changes nothing, the largest positions are exact") {
  CHECK(Setup({1, -2, 3, 4}, {7, INT32_MAX}, {.scale = 0, .length = 2}).y == Floats{1, -2, 3, 4});
  const TemperatureAttrs attrs{.scale = 1, .length = 1, .offset = INT32_MAX};
  CHECK(Setup({1}, {INT32_MAX}, attrs).y[0] == static_cast<float>(1 + std::log(0x1p32 - 1)));
}

TEST_CASE("attention_temperature: all heads of a token have its factor") {
  Graph g;
  const Tensor pos = g.input("pos", {i32, {2}});
  const TemperatureAttrs attrs{.scale = 0.1f, .length = 8};
  g.output("heads", attention_temperature(g.input("h", {f32, {2, 3, 4}}), pos, attrs));
  g.output("rows", attention_temperature(g.input("r", {f32, {2, 12}}), pos, attrs));
  Evaluator eval(g, kPadded);
  eval.floats("h", noise(24, 1)).floats("r", noise(24, 1)).ints("pos", {5, 100}).run();
  CHECK(eval.floats("heads") == eval.floats("rows"));
}

TEST_CASE(
    "attention_temperature: plain f32 keeps within the bound, a fraction of a step does not") {
  std::vector<std::int32_t> pos;
  for (std::int32_t i = 0; i < 1000; ++i) pos.push_back(i * i * 2);
  const Floats x = noise(1000, 7);
  for (const float scale : {0.1f, 3.0f, -0.3f}) {
    CAPTURE(scale);
    const TemperatureAttrs attrs{.scale = scale, .length = 8192, .offset = 1};
    const Setup s(x, pos, attrs);
    Floats plain, wrong;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int32_t steps = (pos[i] + 1) / 8192;
      plain.push_back(x[i] * (1 + scale * std::log(static_cast<float>(steps) + 1)));
      wrong.push_back(x[i] * (1 + scale * std::log(static_cast<float>(pos[i] + 1) / 8192 + 1)));
    }
    check_close(plain, s.y, s.bounds);
    CHECK(worst_of(wrong, s.y, s.bounds).excess > 1000);
  }
}

TEST_CASE("attention_temperature: invalid arguments") {
  const TensorSpec x{f32, {2, 4}}, pos{i32, {2}};
  const auto refused = [&](const TemperatureAttrs& attrs) {
    return refusal(kAttentionTemperature, attrs, {x, pos});
  };
  const auto refused_of = [](const TensorSpec& a, const TensorSpec& b) {
    return refusal(kAttentionTemperature, TemperatureAttrs{}, {a, b});
  };
  CHECK(refused_of({f16, {2, 4}}, pos) == "DTypeError: x must be F32, got F16");
  CHECK(refused_of({f32, {2}}, pos) == "ShapeError: x must be [T, ..], got [2]");
  CHECK(refused_of(x, {f32, {2}}) == "DTypeError: pos must be I32, got F32");
  CHECK(refused_of(x, {i32, {3}}) == "ShapeError: pos must be [2], got [3]");
  CHECK(refused({.scale = NAN}) == "ValueError: scale must be finite, got nan");
  CHECK(refused({.length = 0}) == "ValueError: length must be positive and finite, got 0");
  CHECK(refused({.offset = -1}) == "ValueError: offset must be at least 0, got -1");
}

}  // namespace
}  // namespace weft
