// Weights give the same bits with every instruction set, every value of a tunable, and in every
// order of their rows.

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/backends/tunables.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"

#include "cpu/isa.h"
#include "cpu/kernel_test.h"
#include "cpu/panels.h"
#include "cpu/tuning.h"
#include "cpu/weight_formats.h"

namespace weft::test {

// Every tile of narrow steps, and more tokens than any.
constexpr std::int64_t kWidths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                    11, 12, 13, 14, 15, 16, 17, 18, 37};

// Whole panels: the rows after the last one are in file order.
TEST_CASE("linear: panels give the same bits with every instruction set") {
  for (const DType w : cpu::panel_types()) {
    if (!cpu::has_panel_row(q8a, w.plain(), features_under_test())) continue;
    const std::int64_t k = 3 * w.block_elems(), n = 48;
    for (const std::int64_t t : kWidths) {
      Graph g;
      const Tensor x = g.input("x", {f32, {t, k}});
      g.output("y", linear(quantize(x), g.weight("w", {w, {n, k}})));
      Evaluator eval(g);
      eval.floats("x", noise(static_cast<std::size_t>(t * k), 7));
      eval.bytes("w", random_weights(w, n, k, 8)).run();
      const Floats own = run_kernel(g, eval, "y");
      for (const std::string_view isa : cpu_isas()) {
        CAPTURE(w.name());
        CAPTURE(isa);
        if (cpu::has_panel_row(q8a, w.plain(), cpu::find_instruction_set(isa).needs))
          CHECK(run_kernel(g, eval, "y", cpu_backend(isa)) == own);
      }
    }
  }
}

// Also with columns that fill no panel, and K that ends within a vector.
TEST_CASE("linear: weights in panels and in file order give the same bits") {
  for (const DType panels : cpu::panel_types()) {
    const DType plain = panels.plain();
    const bool integer = cpu::has_panel_row(q8a, plain, features_under_test());
    if (!integer && !cpu::has_panel_row(f32, plain, features_under_test())) continue;
    const std::int64_t k = integer ? 3 * plain.block_elems() : 277, n = 53;
    for (const std::int64_t t : kWidths) {
      CAPTURE(panels.name());
      CAPTURE(t);
      Floats results[2];
      for (const DType type : {panels, plain}) {
        Graph g;
        const Tensor x = g.input("x", {f32, {t, k}});
        g.output("y", linear(integer ? quantize(x) : x, g.weight("w", {type, {n, k}})));
        Evaluator eval(g);
        eval.floats("x", noise(static_cast<std::size_t>(t * k), 11));
        eval.bytes("w", random_weights(type, n, k, 12)).run();
        results[type == plain] = run_kernel(g, eval, "y");
      }
      CHECK(results[0] == results[1]);
    }
  }
}

TEST_CASE("linear: every value of a tunable gives the same bits") {
  const cpu::InstructionSet* const isa = cpu::best_instruction_set(features_under_test());
  REQUIRE(isa);
  for (const Tunable& tunable : cpu_tunables(isa->name)) {
    const std::int64_t k = 4 * tunable.weights.block_elems(), n = 48;
    Graph g;
    const Tensor x = g.input("x", {f32, {tunable.n_tokens, k}});
    const DType w = cpu::panels_of(tunable.weights);
    g.output("y", linear(quantize(x), g.weight("w", {w, {n, k}})));
    Evaluator eval(g);
    eval.floats("x", noise(static_cast<std::size_t>(tunable.n_tokens * k), 9));
    eval.bytes("w", random_weights(w, n, k, 10)).run();
    const Floats own = run_kernel(g, eval, "y");
    CHECK(std::ranges::count(tunable.others, tunable.standard) == 0);
    for (const std::int64_t value : tunable.others) {
      CAPTURE(tunable.name);
      CAPTURE(value);
      const auto backend = make_cpu_backend(isa->name, TunedValues({{tunable.name, value}}));
      CHECK(run_kernel(g, eval, "y", *backend) == own);
    }
  }
}

TEST_CASE("tunables: stored values that a tunable does not have count as absent") {
  const cpu::PanelPrefetch standard;
  const cpu::Tuning some(TunedValues(
      {{"prefetch.q4_k.1", 4096}, {"prefetch.q4_k.n", -1}, {"prefetch.q6_k.1", 3}, {"other", 1}}));
  CHECK(some.prefetch(q4_k).one_token == 4096);
  CHECK(some.prefetch(q4_k).several == standard.several);
  CHECK(some.prefetch(q6_k).one_token == standard.one_token);
  CHECK(cpu::Tuning().prefetch(q4_k).one_token == standard.one_token);
}

}  // namespace weft::test
