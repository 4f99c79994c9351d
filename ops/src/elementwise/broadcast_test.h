#pragma once
// The tests of add and mul, which differ only in the function of two elements.

#include "op_test.h"

namespace weft::test {

// The results of check_broadcast().
struct Broadcast {
  Floats by_vector;   // 1 .. 6 with 2, 3, 4 for every three elements
  Floats of_vectors;  // 2, 3, 4 with itself
  Floats by_element;  // two rows of two heads, 1 .. 12, with 10, 20, .. 60 for every row
  Floats by_head;     // the same with 10 and 20 for the heads of every row
  Floats by_one;      // the same with 2
};

template <class Op>
void check_vectors(Op op, const Broadcast& expected) {
  Graph g;
  const Tensor rows = g.input("rows", {f32, {2, 3}}), heads = g.input("heads", {f32, {1, 2, 3}});
  const Tensor v = g.weight("v", {f32, {3}});
  g.output("y", op(rows, v));
  g.output("z", op(heads, v));
  g.output("flat", op(v, v));
  Evaluator eval(g, kPadded);
  eval.floats("rows", {1, 2, 3, 4, 5, 6}).floats("heads", {1, 2, 3, 4, 5, 6});
  eval.floats("v", {2, 3, 4}).run();
  CHECK(eval.floats("y") == expected.by_vector);
  CHECK(eval.floats("z") == expected.by_vector);
  CHECK(eval.floats("flat") == expected.of_vectors);
}

template <class Op>
void check_heads(Op op, const Broadcast& expected) {
  // T = H: an operand that fits as rows is used by head.
  Graph g;
  const Tensor a = g.input("a", {f32, {2, 2, 3}}), rows = g.input("rows", {f32, {4, 3}});
  const Tensor one = g.weight("one", {f32, {1}});
  g.output("by_element", op(a, g.weight("elements", {f32, {2, 3}})));
  g.output("by_head", op(a, g.weight("heads", {f32, {2, 1}})));
  g.output("by_one", op(a, one));
  g.output("rows_by_one", op(rows, one));
  Floats x(12);
  for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i + 1);
  Evaluator eval(g, kPadded);
  eval.floats("a", x).floats("rows", x).floats("elements", {10, 20, 30, 40, 50, 60});
  eval.floats("heads", {10, 20}).floats("one", {2}).run();
  CHECK(eval.floats("by_element") == expected.by_element);
  CHECK(eval.floats("by_head") == expected.by_head);
  CHECK(eval.floats("by_one") == expected.by_one);
  CHECK(eval.floats("rows_by_one") == expected.by_one);
}

// A vector is broadcast along the last dimension of rows and heads; heads of every row share an
// element or a row of b; all share one. op: (a, b) -> y.
template <class Op>
void check_broadcast(Op op, const Broadcast& expected) {
  check_vectors(op, expected);
  check_heads(op, expected);
}

inline void check_broadcast_refusals(const OpDef& op) {
  const TensorSpec a{f32, {2, 3}};
  CHECK(refusal(op, {}, {{i32, {2, 3}}, a}) == "DTypeError: a must be F32, got I32");
  CHECK(refusal(op, {}, {a, {f16, {2, 3}}}) == "DTypeError: b must be F32, got F16");
  CHECK(refusal(op, {}, {a, {f32, {2}}}) == "ShapeError: b must be [2, 3], [3] or [1], got [2]");
  CHECK(refusal(op, {}, {a, {f32, {1, 3}}}) ==
        "ShapeError: b must be [2, 3], [3] or [1], got [1, 3]");
  const TensorSpec heads{f32, {5, 2, 3}};
  const auto refused = [&](const Shape& b) { return refusal(op, {}, {heads, {f32, b}}); };
  const std::string forms = "ShapeError: b must be [5, 2, 3], [2, 3], [2, 1], [3] or [1], got ";
  CHECK(refused({5, 3}) == forms + "[5, 3]");
  CHECK(refused({2, 2}) == forms + "[2, 2]");
  CHECK(refused({5, 2, 1}) == forms + "[5, 2, 1]");
  CHECK(refused({1, 2, 3}) == forms + "[1, 2, 3]");
}

}  // namespace weft::test
