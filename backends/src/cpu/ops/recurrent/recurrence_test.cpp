#include "weft/ops/recurrent/recurrence.h"

#include "weft/ops/rows/keep_rows.h"

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

TEST_CASE(
    "recurrence: within the bounds, split anywhere, from zero, from states and from earlier "
    "tokens") {
  std::uint32_t seed = 1;
  for (const std::int64_t width : {1, 7, 16, 33, 200}) {
    for (const std::int64_t n : {1, 5, 40}) {
      Graph g;
      const Tensor a = g.input("a", {f32, {n, 2, width}}), x = g.input("x", {f32, {n, 2, width}});
      g.output("y", recurrence(a, x, g.state("s", {f32, {3, 2, width}}),
                               g.input("from", {i32, {n}}), g.input("before", {i32, {n}})));
      Evaluator eval(g, kOddRows);
      const auto fill = [&](const char* path, std::int64_t rows) {
        eval.floats(path, noise(static_cast<std::size_t>(rows * 2 * width), ++seed));
      };
      fill("a", n), fill("x", n), fill("s", 3);
      // Three sequences by turns, one of them without a state.
      std::vector<std::int32_t> from, before;
      for (std::int32_t t = 0; t < n; ++t) {
        from.push_back(t < 3 ? t - 1 : -1);
        before.push_back(t < 3 ? -1 : t - 3);
      }
      eval.ints("from", from).ints("before", before).run();
      check_kernel(g, eval, "y", seed);
    }
  }
}

TEST_CASE("keep_rows: the bits of the definition, other rows unchanged, split over lanes") {
  Graph g;
  const Tensor written = keep_rows(g.state("s", {f32, {5, 20}}), g.input("x", {f32, {4, 20}}),
                                   g.input("rows", {i32, {4}}));
  g.output("y", written);
  Evaluator eval(g, kOddRows);
  eval.floats("s", noise(100, 1)).floats("x", noise(80, 2)).ints("rows", {4, -1, 0, 2});
  const std::vector<std::byte> before = eval.bytes("s");
  const std::vector<std::byte> expected = eval.run().bytes("y");
  eval.bytes("s", before);
  const Kernel kernel = *cpu_backend().find(g, g[written.id()]);
  const std::vector<View> in = eval.inputs(written.id());
  const Node& node = g[written.id()];
  for (const std::int64_t split : {0, 10})
    kernel.run({.op = node.op, .attrs = &node.attrs, .in = in, .out = in[0]},
               {0, 5, split, split + 10});
  CHECK(eval.bytes("y") == expected);
}

}  // namespace
}  // namespace weft::test
