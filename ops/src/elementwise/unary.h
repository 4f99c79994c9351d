#pragma once
// Ops of one input and no attributes, element by element: y = f(x). Each one is its function and
// how far f32 may miss it.

#include "elementwise/elements.h"

namespace weft::ops {

inline TensorSpec infer_unary(const Attrs&, Specs in) {
  expect_dtype("x", in[0], f32);
  return in[0];
}

// f: the function. error(x, y): the absolute error that f32 may have, with y = f(x).
template <double (*f)(double), double (*error)(double x, double y)>
struct Unary {
  static void reference(const Attrs&, Views in, View out) {
    each_element<float, float>(in[0], out, [](double x) { return static_cast<float>(f(x)); });
  }
  static void bound(const Attrs&, Views in, View bounds) {
    each_element<float, float>(in[0], bounds, [](double x) {
      const double e = error(x, f(x));
      return e == 0 ? 0 : bound_up(e);
    });
  }
};

inline constexpr OpInput kUnaryInputs[] = {{"x"}};

template <double (*f)(double), double (*error)(double x, double y)>
constexpr OpDef unary(std::string_view name) {
  return {.name = name,
          .inputs = kUnaryInputs,
          .infer = infer_unary,
          .reference = Unary<f, error>::reference,
          .bound = Unary<f, error>::bound,
          .in_place_over = 0};
}

}  // namespace weft::ops
