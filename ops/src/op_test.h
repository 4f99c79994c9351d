#pragma once
// Helpers for the tests of the ops.

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/graph/graph.h"

#include "support/compare.h"
#include "support/eval.h"

namespace weft::test {

using Floats = std::vector<float>;

// Rows never lie back to back in these tests.
inline constexpr EvaluatorOptions kPadded{.row_padding = 64};

// "ShapeError: w must be [4], got [5]": how an op refuses inputs; "accepted" if it does not.
inline std::string refusal(const OpDef& op, const Attrs& attrs, std::vector<TensorSpec> in) {
  in.resize(std::max(in.size(), op.inputs.size()));
  try {
    op.infer(attrs, in);
  } catch (const ShapeError& e) {
    return std::string("ShapeError: ") + e.what();
  } catch (const DTypeError& e) {
    return std::string("DTypeError: ") + e.what();
  } catch (const ValueError& e) {
    return std::string("ValueError: ") + e.what();
  }
  return "accepted";
}

// Every element of `got` lies within its bound of `expected`.
inline void check_close(const Floats& got, const Floats& expected, const Floats& bounds) {
  REQUIRE(got.size() == expected.size());
  REQUIRE(got.size() == bounds.size());
  const Worst worst = worst_of(got, expected, bounds);
  CHECK_MESSAGE(worst.excess <= 1, worst.text());
}

// Adds a fused op and the graph it equals side by side: "fused" and "plain".
inline void add_with_definition(Graph& g, const OpDef& op, std::span<const Tensor> in,
                                const Attrs& attrs) {
  g.output("fused", g.add(op, in, attrs, std::source_location::current()));
  g.output("plain", op.definition(attrs, in));
  check(g);
}
inline void check_fused(const Evaluator& eval) {
  check_close(eval.floats("plain"), eval.floats("fused"), eval.bounds("fused"));
}

}  // namespace weft::test
