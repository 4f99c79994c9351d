#include "weft/scheduler/computation.h"

#include <cstring>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/projections/linear.h"

#include "support/error_text.h"
#include "support/eval.h"

namespace weft {
namespace {

using test::text_of;

// y = silu(x w^T), with up to four rows.
Graph layer() {
  Graph g;
  const Tensor x = g.input("x", {f32, {g.variable("T", 4), 64}});
  g.output("y", silu(linear(x, g.weight("up.weight", {f32, {32, 64}}))));
  return g;
}

std::vector<float> rows_of(const View& view) {
  std::vector<float> all;
  for (std::int64_t r = 0; r < view.rows(); ++r)
    all.insert(all.end(), view.row<float>(r), view.row<float>(r) + view.cols());
  return all;
}

TEST_CASE("a computation gives what the definitions give, and proves it") {
  const std::vector<float> x = test::noise(2 * 64, 1), w = test::noise(32 * 64, 2);
  for (const bool reuse : {true, false}) {
    Computation computation(layer(), {.separate_tensors = !reuse});
    computation.set_weight("up.weight", std::as_bytes(std::span(w)));
    std::memcpy(computation.input("x").data(), x.data(), x.size() * sizeof(float));
    computation.run({2});
    const View y = computation.output("y");
    CHECK(y.dims[0] == 2);
    const Graph plain = layer();
    test::Evaluator expected(plain);
    expected.extent("T", 2).floats("x", x).floats("up.weight", w).run();
    const std::vector<float> got = rows_of(y), want = expected.floats("y");
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]));
    CHECK(computation.verify({2}).first_bad() == nullptr);
    CHECK(rows_of(computation.output("y")) == got);
    if (!reuse) CHECK(rows_of(computation.value("silu")) == got);
  }
}

TEST_CASE("a computation keeps to its budget, or says what it needs") {
  const std::int64_t weight = 32 * 64 * 4;
  const std::string need = text_of([&] { Computation(layer(), {.mem_budget = weight}); });
  CHECK(need.starts_with("the computation needs "));
  CHECK(need.ends_with(", the memory budget is " + human_bytes(weight)));
  CHECK_THROWS_AS(Computation(layer(), {.mem_budget = weight}), BudgetError);
  const std::vector<float> w(32 * 64, 1.0F);
  Computation fits(layer(), {.mem_budget = weight + (1 << 20)});
  fits.set_weight("up.weight", std::as_bytes(std::span(w)));
  CHECK(fits.verify({1}).first_bad() == nullptr);
}

TEST_CASE("a computation says what is missing") {
  Computation c(layer());
  const std::vector<std::byte> few(12);
  CHECK(text_of([&] { c.run({2}); }) == "weight 'up.weight' has no value yet");
  CHECK(text_of([&] { c.set_weight("w", few); }) == "the graph has no weight 'w'");
  CHECK(text_of([&] { c.set_weight("up.weight", few); }) ==
        "weight 'up.weight' is F32 [32, 64] and has 8192 bytes, got 12");
  CHECK(text_of([&] { c.input("up.weight"); }) == "the graph has no input 'up.weight'");
  CHECK(text_of([&] { c.state("s"); }) == "the graph has no state 's'");
  CHECK(text_of([&] { c.output("y"); }) == "the computation has not run yet");
  c.set_weight("up.weight", std::vector<std::byte>(8192));
  c.run({1});
  CHECK(text_of([&] { c.output("z"); }) == "the graph has no output 'z'");
  CHECK(text_of([&] { c.value("silu"); }).starts_with("tensors share memory"));
  CHECK(text_of([&] { c.run({5}); }).find("5") != std::string::npos);
  CHECK_THROWS_AS(Computation(layer(), {.backend = "gpu"}), ValueError);
}

}  // namespace
}  // namespace weft
