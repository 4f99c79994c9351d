#include "weft/ops/projections/linear_concat.h"

#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/concat.h"

#include "projections/projection.h"

namespace weft {
namespace {

using namespace ops;

using Ends = std::vector<std::int64_t>;

Ends segments(const Attrs& attrs, Specs in) {
  Ends ends;
  std::int64_t end = 0;
  for (int i = 0; i < attrs.as<LinearConcatAttrs>().count; ++i) {
    ends.push_back(end += in[static_cast<std::size_t>(1 + i)].shape[0].bound);
  }
  return ends;
}

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<LinearConcatAttrs>();
  if (a.count < 1) fail<ValueError>("count must be at least 1, got {}", a.count);
  const std::size_t count = static_cast<std::size_t>(a.count);
  const std::size_t expected = 1 + count * (a.has_bias ? 2 : 1);
  if (in.size() != expected) {
    fail<ValueError>("takes {} inputs for {} weights {} bias, got {}", expected, count,
                     a.has_bias ? "with" : "without", in.size());
  }
  const std::int64_t k = expect_projected(in[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const TensorSpec& w = in[1 + i];
    expect_matrix(fmt::format("w_{}", i), w, k);
    if (!a.has_bias) continue;
    const TensorSpec& bias = in[1 + count + i];
    expect_dtype(fmt::format("b_{}", i), bias, f32);
    expect_shape(fmt::format("b_{}", i), bias, {w.shape[0]});
  }
  return {f32, {in[0].shape[0], segments(attrs, in).back()}};
}

// Calls f(index of the weight, its first column).
template <class F>
void for_each_part(const Attrs& attrs, Views in, F f) {
  std::int64_t begin = 0;
  for (int i = 0; i < attrs.as<LinearConcatAttrs>().count; ++i) {
    f(static_cast<std::size_t>(1 + i), begin);
    begin += in[static_cast<std::size_t>(1 + i)].rows();
  }
}

double bias_at(const Attrs& attrs, Views in, std::size_t weight, std::int64_t n) {
  const auto& a = attrs.as<LinearConcatAttrs>();
  return a.has_bias ? in[weight + static_cast<std::size_t>(a.count)].row<const float>(0)[n] : 0;
}

void reference(const Attrs& attrs, Views in, View out) {
  for_each_part(attrs, in, [&](std::size_t i, std::int64_t begin) {
    project(in[0], in[i], [&](std::int64_t t, std::int64_t n, double sum) {
      out.row<float>(t)[begin + n] = static_cast<float>(sum + bias_at(attrs, in, i, n));
    });
  });
}

// As linear.
void bound(const Attrs& attrs, Views in, View bounds) {
  for_each_part(attrs, in, [&](std::size_t i, std::int64_t begin) {
    project_bound(in[0], in[i], [&](std::int64_t t, std::int64_t n, double sum, double error) {
      const double total = std::fabs(sum) + error + std::fabs(bias_at(attrs, in, i, n));
      bounds.row<float>(t)[begin + n] = bound_up(error + rounding(3) * total);
    });
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(out, extents) * in[1].shape[1].bound);
}

Tensor definition(const Attrs& attrs, std::span<const Tensor> in) {
  const auto& a = attrs.as<LinearConcatAttrs>();
  const std::size_t count = static_cast<std::size_t>(a.count);
  std::vector<Tensor> parts;
  for (std::size_t i = 1; i <= count; ++i) {
    parts.push_back(linear(in[0], in[i], a.has_bias ? in[i + count] : Tensor{}));
  }
  return concat(parts);
}

constexpr OpInput kInputs[] = {{"x", Reach::row},
                               {.name = "w", .reach = Reach::all, .use = InputUse::matrix}};

}  // namespace

const OpDef kLinearConcat{.name = "linear_concat",
                          .inputs = kInputs,
                          .variadic = true,
                          .attrs = &kAttrsType<LinearConcatAttrs>,
                          .infer = infer,
                          .reference = reference,
                          .bound = bound,
                          .cost = cost,
                          .col_segments = segments,
                          .definition = definition};

}  // namespace weft
