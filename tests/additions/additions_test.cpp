// Parts that were added by a line in each list are planned, drawn, verified, loaded and sampled
// like all others.
#include <algorithm>

#include <doctest/doctest.h>

#include "weft/arch/decoder.h"
#include "weft/base/error.h"
#include "weft/check/verify_model.h"
#include "weft/draw/dot.h"
#include "weft/ops/all_ops.h"
#include "weft/ops/elementwise/negate.h"
#include "weft/ops/formats/q8h.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"
#include "weft/sample/sampler.h"
#include "weft/scheduler/shard.h"

#include "cpu/kernel_test.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using namespace test;
using namespace arch;

// The name of a row of the instruction set that the kernels here are compiled for.
std::string row(const std::string& name) {
  return name + " " + std::string(cpu::instruction_sets().back().name);
}

TEST_CASE("an op: found, defined, computed by its kernel") {
  CHECK(find_op("negate") == &kNegate);
  for (const std::int64_t n : {1, 7, 64, 129}) {
    Graph g;
    g.output("y", negate(g.input("x", {f32, {3, n}})));
    Evaluator eval(g, kOddRows);
    const Floats x = noise(static_cast<std::size_t>(3 * n), 1);
    eval.floats("x", x).run();
    Floats expected;
    for (const float v : x) expected.push_back(-v);
    CHECK(eval.floats("y") == expected);
    CHECK(check_kernel(g, eval, "y", 1) == row("negate"));
  }
}

TEST_CASE("an op: divided among ranks, as its inputs say") {
  Graph g;
  const Tensor x = g.input("x", {f32, {g.variable("T", 4), 32}});
  const Tensor up = linear(x, g.weight("up.weight", {f32, {96, 32}}));
  g.output("y", linear(negate(up), g.weight("down.weight", {f32, {32, 96}})));
  const RankGraph part = shard(g, {.tp = 2, .min_elems = 0}, 1);
  REQUIRE(part.graph.find("negate") != kNoNode);
  CHECK(part.graph[part.graph.find("negate")].spec.shape[1].bound == 48);
  CHECK(part.undivided.empty());
}

TEST_CASE("a weight format: encoded, decoded, multiplied by its kernels") {
  CHECK(find_format_by_name("Q8H") == &kQ8HFormat);
  CHECK(find_format_by_gguf_id(199) == &kQ8HFormat);
  for (const bool integer : {false, true}) {
    for (const std::int64_t t : {1, 5}) {
      Graph g;
      const Tensor x = g.input("x", {f32, {t, 96}});
      g.output("y", linear(integer ? quantize(x) : x, g.weight("w", {q8h, {9, 96}})));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(static_cast<std::size_t>(t * 96), 1));
      eval.bytes("w", random_weights(q8h, 9, 96, 2)).run();
      CHECK(check_kernel(g, eval, "y", 3) ==
            row(integer ? "linear q8a x q8h" : "linear f32 x q8h"));
    }
  }
}

// A decoder with the op in front of its ffn and behind it.
Decoder negating(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = Attention{{rope_adjacent}}},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = [](const Layer& l, Tensor x) {
                       return negate(swiglu(l, negate(x)));
                     }}}};
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST_CASE("a model with both, from a file: planned, drawn, verified") {
  register_architecture(decoder<negating>("negating"));
  const auto model = tiny_model({.arch = "negating", .matrices = q8h});
  const PlannedModel planned = plan_model(*model, {.context = 100});
  const std::string plan = planned.plans.front().to_text();
  CHECK(count(plan, row("negate")) == 4);  // two of each layer
  CHECK(count(plan, "x q8h") > 4);
  const std::string picture = draw::to_dot(planned.graphs.front());
  CHECK(count(picture, "negate") >= 2);  // alike layers are drawn once

  const ModelVerification verified =
      verify_model(model, {.tokens = {3, 1, 4, 1, 5, 9, 2, 6}, .borders = true});
  CHECK_MESSAGE(verified.passed(), verified.to_text());
  CHECK(verified.nmse_from_plain < 1e-2);  // activations in 8 bits
  CHECK(count(verified.to_text(), "negate") > 0);
}

TEST_CASE("a sampler stage: in the order, and in the drawn tokens") {
  CHECK(std::ranges::count(kSamplerOrder, "even_ids") == 1);
  CHECK_NOTHROW(sampler_order(std::vector<std::string>{"even_ids"}));
  const SamplerOptions all{.top_k = 0, .top_p = 1, .min_p = 0, .temperature = 5};
  Sampler sampler(all), greedy(SamplerOptions{.temperature = 0});
  const std::vector<float> logits{1, 9, 2, 8, 3, 7};
  for (int i = 0; i < 50; ++i) CHECK(sampler.sample(logits) % 2 == 0);
  CHECK(greedy.sample(logits) == 1);  // only draws are shaped
  Sampler copy = sampler;
  CHECK(copy.sample(logits) == sampler.sample(logits));
}

}  // namespace
}  // namespace weft
