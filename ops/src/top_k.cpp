#include "weft/ops/top_k.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &scores = in[0], &bias = in[1];
  const auto& a = attrs.as<TopKAttrs>();
  expect_dtype("scores", scores, f32);
  expect_form(scores.shape.rank() == 2, "scores", scores, "[T, X]");
  const std::int64_t n = scores.shape[1].bound;
  if (bias.present()) {
    expect_dtype("bias", bias, f32);
    expect_shape("bias", bias, {n});
  }
  if (a.n_groups < 1 || n % a.n_groups != 0)
    fail<ValueError>("n_groups must be a divisor of {}, got {}", n, a.n_groups);
  if (a.used_groups < 1 || a.used_groups > a.n_groups)
    fail<ValueError>("used_groups must be 1..{}, got {}", a.n_groups, a.used_groups);
  const std::int64_t n_considered = n / a.n_groups * a.used_groups;
  if (a.k < 1 || a.k > n_considered) fail<ValueError>("k must be 1..{}, got {}", n_considered, a.k);
  return {i32, {scores.shape[0], a.k}};
}

// The first k of 0 .. values.size() - 1 by value, largest first.
std::vector<std::int32_t> largest(const std::vector<double>& values, std::int64_t k) {
  std::vector<std::int32_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto value = [&](std::int32_t i) { return values[static_cast<std::size_t>(i)]; };
  std::ranges::stable_sort(ids, std::ranges::greater(), value);
  ids.resize(static_cast<std::size_t>(k));
  return ids;
}

// Columns outside of the best groups get -inf.
void keep_best_groups(const TopKAttrs& a, std::vector<double>& values) {
  const std::size_t n_groups = static_cast<std::size_t>(a.n_groups);
  const std::size_t width = values.size() / n_groups;
  std::vector<double> merit;
  for (std::size_t g = 0; g < n_groups; ++g) {
    std::vector<double> group(&values[g * width], values.data() + (g + 1) * width);
    std::ranges::sort(group, std::greater());
    merit.push_back(group[0] + (width > 1 ? group[1] : 0));
  }
  std::vector<bool> kept(n_groups);
  for (const std::int32_t g : largest(merit, a.used_groups))
    kept[static_cast<std::size_t>(g)] = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!kept[i / width]) values[i] = -HUGE_VAL;
  }
}

// Scores and biases are added in f32, so that every implementation sees the same ties.
void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<TopKAttrs>();
  const float* bias = in[1] ? in[1].row<const float>(0) : nullptr;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* scores = in[0].row<const float>(t);
    std::vector<double> values(scores, scores + in[0].cols());
    for (std::size_t i = 0; bias && i < values.size(); ++i) values[i] = scores[i] + bias[i];
    if (a.used_groups < a.n_groups) keep_best_groups(a, values);
    std::ranges::copy(largest(values, a.k), out.row<std::int32_t>(t));
  }
}

std::int64_t granule(const Attrs& attrs, Specs, const TensorSpec&) {
  return attrs.as<TopKAttrs>().k;
}

constexpr OpInput kInputs[] = {{"scores", Reach::row}, {"bias", Reach::all, true}};

}  // namespace

const OpDef kTopK{.name = "top_k",
                  .inputs = kInputs,
                  .attrs = &typeid(TopKAttrs),
                  .infer = infer,
                  .reference = reference,
                  .bound = exact,
                  .col_granule = granule};

Tensor top_k(Tensor scores, const TopKAttrs& attrs, Tensor bias, std::source_location where) {
  return add_node(kTopK, {scores, bias}, attrs, where);
}

}  // namespace weft
