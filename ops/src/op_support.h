#pragma once
// Code shared by the files of ops: checks for infer, rows as floats, node names, costs and the
// arithmetic of error bounds.

#include <cfloat>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/graph/graph.h"
#include "weft/ops/formats/format.h"

namespace weft::ops {

// ---- infer: each throws an error with the name of the input, the expected and the actual value.

void expect_dtype(std::string_view name, const TensorSpec& spec, DType dtype);
void expect_shape(std::string_view name, const TensorSpec& spec, const Shape& shape);
void expect_format(std::string_view name, const TensorSpec& spec);  // something with a codec
// A cache [B, G, 64, E]: one of cache_types(), E whole blocks of it.
void expect_cache(std::string_view name, const TensorSpec& spec);
void expect_finite(std::string_view name, double value);
void expect_positive(std::string_view name, double value);

// For a shape that is only partly known: expect_form(w.shape.n_dims() == 2, "w", w, "[N, {}]", k).
template <class... Args>
void expect_form(bool holds, std::string_view name, const TensorSpec& spec,
                 fmt::format_string<Args...> form, Args&&... args) {
  if (holds) return;
  fail<ShapeError>("{} must be {}, got {}", name, fmt::format(form, std::forward<Args>(args)...),
                   to_string(spec.shape));
}

// ---- nodes

// Adds an op to the graph of its first present input. `path` is a full path; empty: that of
// OpDef::named_after, or else scope and op name.
Tensor add_node(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, SourceLine where,
                std::string_view path = {});
inline Tensor add_node(const OpDef& op, std::initializer_list<Tensor> inputs, Attrs attrs,
                       SourceLine where, std::string_view path = {}) {
  return add_node(op, std::span(inputs.begin(), inputs.size()), std::move(attrs), where, path);
}

// "blk.3.attn_q" for the weight "blk.3.attn_q.weight"; empty for any other tensor.
std::string_view named_after(Tensor w);

// ---- reference

// Rows of a tensor of any format and layout, as floats.
class RowReader {
 public:
  explicit RowReader(const View& view);
  const float* operator[](std::int64_t r);  // cols() floats, valid until the next call

 private:
  View view_;
  const Format* format_;  // the format of the plain form
  std::vector<float> buffer_;
  std::vector<std::byte> plain_row_;  // for a tensor with a layout: its row in plain form
};

// All rows, back to back.
std::vector<float> decode_rows(const View& view);

double silu_of(double x);

// ---- bound

// n successive roundings to f32 change a value by at most this fraction of it, and a sum of
// products by this fraction of the sum of their magnitudes (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., section 3.1: gamma_n). Nothing is known for 2^24 roundings and
// more.
inline double rounding(double n) {
  return n < 0x1p24 ? n * 0x1p-24 / (1 - n * 0x1p-24) : HUGE_VAL;
}

// The error of one operation if subnormals are flushed to zero.
inline constexpr double kFlushed = FLT_MIN;

// Error of silu in f32 if its argument is exact: an exp good to 2 ulp, an addition, a division
// and a product, well within 16 roundings; exp(-x) leaves f32 at x = -88.7, where the true result
// is 23 * FLT_MIN.
inline double silu_error(double y) {
  return rounding(16) * std::fabs(y) + 32 * kFlushed;
}

// The same if its argument may be off by `error`: the slope of silu is at most 1.1.
inline double silu_error_near(double x, double error) {
  const double moved = 1.1 * error;
  return moved + silu_error(std::fabs(silu_of(x)) + moved);
}

// For ops that move values and compute none: a bound of 0 everywhere.
void exact(const Attrs&, Views in, View bounds);

// To f32, rounded up.
inline float bound_up(double x) {
  return std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}

// ---- lanes

// OpDef::col_granule of ops whose lanes compute whole rows of the last dimension.
std::int64_t last_dimension(const Attrs&, Specs in, const TensorSpec& out);

// ---- cost

std::int64_t bytes_at(const TensorSpec& spec, const Extents& extents);  // 0 for an absent input
std::int64_t elems_at(const TensorSpec& spec, const Extents& extents);
// Reads all inputs once and writes the output once.
Cost moves(Specs in, const TensorSpec& out, const Extents& extents, std::int64_t multiply_adds = 0);

}  // namespace weft::ops
