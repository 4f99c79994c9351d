#pragma once
// For tests of the two forms of GELU: by tanh and exact.

#include <source_location>

#include "op_test.h"

namespace weft::test {

// y(x) - y(-x) = x, and small values are halved.
inline void check_symmetry(Tensor (*gelu)(Tensor x, SourceLine where)) {
  Graph g;
  g.output("y", gelu(g.input("x", {f32, {2, 500}}), std::source_location::current()));
  Floats x = noise(500, 1);
  for (float& v : x) v *= 8;
  for (std::size_t i = 0; i < 500; ++i) x.push_back(-x[i]);
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  const Floats y = eval.floats("y");
  for (std::size_t i = 0; i < 500; ++i)
    CHECK(static_cast<double>(y[i]) - y[i + 500] == doctest::Approx(x[i]).epsilon(1e-6));
  CHECK(eval.floats("x", Floats(1000, 1e-20f)).run().floats("y")[0] == 0.5e-20f);
}

}  // namespace weft::test
