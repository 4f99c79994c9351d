#include "weft/ops/projections/expert_linear.h"

#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("expert_linear: by hand, one x for all choices or one for each") {
  Graph g;
  const Tensor w = g.weight("w", {f32, {3, 2, 2}}), ids = g.input("ids", {i32, {2, 2}});
  g.output("y", expert_linear(g.input("x", {f32, {2, 2}}), w, ids));
  g.output("z", expert_linear(g.input("each", {f32, {2, 2, 2}}), w, ids));
  Evaluator eval(g, kPadded);
  eval.floats("w", {1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 0, 3}).ints("ids", {0, 2, 1, 1});
  eval.floats("x", {1, 2, 3, 4}).floats("each", {1, 2, 3, 4, 5, 6, 7, 8}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 2, 6, 4, 3, 4, 3});
  CHECK(eval.floats("z") == Floats{1, 2, 6, 12, 6, 5, 8, 7});
}

TEST_CASE("expert_linear: ids outside give NaN for their choice alone") {
  Graph g;
  const Tensor w = g.weight("w", {f32, {2, 2, 1}});
  g.output("y", expert_linear(g.input("x", {f32, {1, 1}}), w, g.input("ids", {i32, {1, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("w", {1, 2, 3, 4}).floats("x", {10}).ints("ids", {1, -1, 2, 0}).run();
  const Floats y = eval.floats("y");
  CHECK(Floats(y.begin(), y.begin() + 2) == Floats{30, 40});
  for (std::size_t i = 2; i < 6; ++i) CHECK(std::isnan(y[i]));
  CHECK(Floats(y.begin() + 6, y.end()) == Floats{10, 20});
}

TEST_CASE("expert_linear: a part of the experts gives zeros for those elsewhere") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 3, 2}}), ids = g.input("ids", {i32, {2, 3}});
  const auto w = [&](const char* name, std::int64_t n) { return g.weight(name, {f32, {n, 1, 2}}); };
  g.output("all", expert_linear(x, w("w", 4), ids));
  g.output("front", expert_linear(x, w("w[0:1]", 1), ids, {.first = 0, .all = 4}));
  g.output("back", expert_linear(x, w("w[1:4]", 3), ids, {.first = 1, .all = 4}));
  Evaluator eval(g, kPadded);
  eval.floats("w", {1, 2, 3, 4, 5, 6, 7, 8});
  eval.floats("w[0:1]", {1, 2}).floats("w[1:4]", {3, 4, 5, 6, 7, 8});
  eval.floats("x", noise(12, 1)).ints("ids", {0, 3, 1, 4, 0, -1}).run();
  const Floats all = eval.floats("all"), front = eval.floats("front"), back = eval.floats("back");
  CHECK(Floats(front.begin(), front.begin() + 3) == Floats{all[0], 0, 0});
  CHECK(Floats(back.begin(), back.begin() + 3) == Floats{0, all[1], all[2]});
  CHECK(front[4] == all[4]);
  CHECK(back[4] == 0);
  for (const Floats& y : {all, front, back}) {
    CHECK(std::isnan(y[3]));
    CHECK(std::isnan(y[5]));
  }
  const Floats bounds = eval.bounds("front");
  CHECK(bounds[0] > 0);
  CHECK(bounds[1] == 0);
}

TEST_CASE("expert_linear: is linear with the chosen matrix, for any format and quantized x") {
  for (const DType dtype : {f32, f16, q8_0, q4_k}) {
    for (const bool in_blocks : {false, true}) {
      CAPTURE(dtype.name());
      CAPTURE(in_blocks);
      constexpr std::int64_t kD = 256, kN = 3, kTokens = 4;
      Graph g;
      const Dim t = g.variable("T", 8);
      Tensor x = g.input("x", {f32, {t, kD}});
      if (in_blocks) x = quantize(x);
      g.output("used", x);
      const Tensor ids = g.input("ids", {i32, {t, 2}});
      g.output("y", expert_linear(x, g.weight("w", {dtype, {5, kN, kD}}), ids));
      Evaluator eval(g, kPadded);
      const std::vector<std::int32_t> chosen{4, 0, 2, 2, 0, 1, 3, 4};
      eval.extent("T", kTokens).floats("x", noise(kTokens * kD, 1));
      eval.floats("w", noise(5 * kN * kD, 2)).ints("ids", chosen).run();

      Graph plain;
      plain.output("y",
                   linear(plain.input("x", {f32, {1, kD}}), plain.weight("w", {f32, {kN, kD}})));
      Evaluator one(plain, kPadded);
      const Floats xs = eval.floats("used"), w = eval.floats("w"), y = eval.floats("y");
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto e = static_cast<std::size_t>(chosen[i]);
        one.floats("x", std::span(xs).subspan(i / 2 * kD, kD));
        one.floats("w", std::span(w).subspan(e * kN * kD, kN * kD)).run();
        CHECK(one.floats("y") == Floats(&y[i * kN], &y[i * kN] + kN));
      }
    }
  }
}

TEST_CASE("expert_linear: plain f32 keeps within the bound, a forgotten product does not") {
  for (const std::uint32_t seed : {1u, 2u, 3u, 4u, 5u}) {
    constexpr std::size_t kD = 300, kN = 7;
    Graph g;
    const Tensor w = g.weight("w", {f32, {2, kN, kD}});
    g.output("y", expert_linear(g.input("x", {f32, {1, kD}}), w, g.input("ids", {i32, {1, 1}})));
    const Floats x = noise(kD, seed), ws = noise(2 * kN * kD, seed + 100);
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("w", ws).ints("ids", {1}).run();
    Floats plain(kN), wrong(kN);
    for (std::size_t n = 0; n < kN; ++n) {
      for (std::size_t d = 0; d < kD; ++d) {
        const float product = x[d] * ws[(kN + n) * kD + d];
        plain[n] += product;
        if (d != 17) wrong[n] += product;
      }
    }
    check_close(plain, eval.floats("y"), eval.bounds("y"));
    CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 2);
  }
}

TEST_CASE("expert_linear: the bound of an expert that does not exist is 0") {
  Graph g;
  const Tensor w = g.weight("w", {f32, {1, 2, 2}});
  g.output("y", expert_linear(g.input("x", {f32, {1, 2}}), w, g.input("ids", {i32, {1, 1}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2}).floats("w", {1, 2, 3, 4}).ints("ids", {1}).run();
  CHECK(eval.bounds("y") == Floats{0, 0});
}

TEST_CASE("expert_linear: counts the cost of each chosen expert once") {
  const auto cost = [](std::int64_t n_tokens, const ExpertLinearAttrs& part = {}) {
    const std::vector<TensorSpec> in{
        {f32, {n_tokens, 32}}, {q8_0, {8, 4, 32}}, {i32, {n_tokens, 2}}};
    return kExpertLinear.cost(part, in, kExpertLinear.infer(part, in), {});
  };
  CHECK(cost(1).bytes_read == 32 * 4 + 2 * 4 + 2 * 4 * 34);
  CHECK(cost(1).bytes_written == 2 * 4 * 4);
  CHECK(cost(1).multiply_adds == 2 * 4 * 32);
  CHECK(cost(10).bytes_read == 10 * 32 * 4 + 10 * 2 * 4 + 8 * 4 * 34);
  const ExpertLinearAttrs half{.first = 8, .all = 16};
  CHECK(cost(1, half).bytes_read == 32 * 4 + 2 * 4 + 4 * 34);
  CHECK(cost(1, half).multiply_adds == 4 * 32);
  CHECK(cost(10, half).bytes_read == cost(10).bytes_read);
}

TEST_CASE("expert_linear: nodes are named after the weight") {
  Graph g;
  const Tensor w = g.weight("blk.0.ffn_up_exps.weight", {f32, {2, 3, 4}});
  const Tensor y = expert_linear(g.input("x", {f32, {1, 4}}), w, g.input("ids", {i32, {1, 1}}));
  CHECK(g[y.id()].path == "blk.0.ffn_up_exps");
}

TEST_CASE("expert_linear: invalid arguments") {
  const TensorSpec x{f32, {2, 8}}, w{f16, {5, 3, 8}}, ids{i32, {2, 4}};
  const auto refused = [](const TensorSpec& a, const TensorSpec& b, const TensorSpec& c) {
    return refusal(kExpertLinear, ExpertLinearAttrs{}, {a, b, c});
  };
  CHECK(refused({f16, {2, 8}}, w, ids) == "DTypeError: x must be F32 or Q8A, got F16");
  CHECK(refused(x, w, {f32, {2, 4}}) == "DTypeError: ids must be I32, got F32");
  CHECK(refused(x, w, {i32, {2}}) == "ShapeError: ids must be [T, K], got [2]");
  CHECK(refused({f32, {3, 8}}, w, ids) == "ShapeError: x must be [2, D] or [2, 4, D], got [3, 8]");
  CHECK(refused({f32, {2, 3, 8}}, w, ids) ==
        "ShapeError: x must be [2, D] or [2, 4, D], got [2, 3, 8]");
  CHECK(refused(x, {i32, {5, 3, 8}}, ids) ==
        "DTypeError: w must have a type with a codec, got I32");
  CHECK(refused(x, {f16, {3, 8}}, ids) == "ShapeError: w must be [X, N, 8], got [3, 8]");
  CHECK(refused(x, {f16, {5, 3, 9}}, ids) == "ShapeError: w must be [X, N, 8], got [5, 3, 9]");
  CHECK(refused(x, {f16, {Dim(5, 0), 3, 8}}, ids) ==
        "ShapeError: w must be [X, N, 8], got [?<=5, 3, 8]");
  CHECK(refused(x, {q8_0, {5, 4, 8}}, ids) ==
        "ShapeError: D must be a multiple of 32 for Q8_0, got 8");
  CHECK(refused({q8a, {2, 4, 8}}, w, ids) ==
        "ShapeError: D must be a multiple of 32 for Q8A, got 8");
  const auto part = [&](std::int64_t first, std::int64_t all) {
    return refusal(kExpertLinear, ExpertLinearAttrs{first, all}, {x, w, ids});
  };
  CHECK(part(1, 0) == "ValueError: 5 experts from 1 on must be a part of 5");
  CHECK(part(-1, 8) == "ValueError: 5 experts from -1 on must be a part of 8");
  CHECK(part(4, 8) == "ValueError: 5 experts from 4 on must be a part of 8");
  CHECK(part(0, 4) == "ValueError: 5 experts from 0 on must be a part of 4");
  CHECK(part(INT64_MAX, INT64_MAX) ==
        "ValueError: 5 experts from 9223372036854775807 on must be a part of 9223372036854775807");
}

}  // namespace
}  // namespace weft
