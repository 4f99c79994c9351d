#include "weft/ops/ids/top_k.h"

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
  expect_form(scores.shape.n_dims() == 2, "scores", scores, "[T, X]");
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

using Ids = std::vector<std::int32_t>;

Ids first_ids(std::size_t n) {
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// The k of `ids`, which are in order, with the largest values, largest first.
Ids largest(const std::vector<float>& values, Ids ids, std::int64_t k) {
  const auto value = [&](std::int32_t i) {
    const float v = values[static_cast<std::size_t>(i)];
    return std::isnan(v) ? -std::numeric_limits<float>::infinity() : v;
  };
  std::ranges::stable_sort(ids, std::ranges::greater(), value);
  ids.resize(static_cast<std::size_t>(k));
  return ids;
}

// The columns of the best groups, in order.
Ids considered(const TopKAttrs& a, const std::vector<float>& values) {
  const std::size_t n_groups = static_cast<std::size_t>(a.n_groups);
  const std::size_t width = values.size() / n_groups;
  Ids columns = first_ids(values.size());
  if (a.used_groups == a.n_groups) return columns;
  std::vector<float> merit;
  for (std::size_t g = 0; g < n_groups; ++g) {
    const std::vector<float> group(&values[g * width], values.data() + (g + 1) * width);
    const Ids best = largest(group, first_ids(width), width > 1 ? 2 : 1);
    float sum = 0;
    for (const std::int32_t i : best) sum += group[static_cast<std::size_t>(i)];
    merit.push_back(sum);
  }
  std::vector<bool> kept(n_groups);
  for (const std::int32_t g : largest(merit, first_ids(n_groups), a.used_groups))
    kept[static_cast<std::size_t>(g)] = true;
  std::erase_if(columns,
                [&](std::int32_t i) { return !kept[static_cast<std::size_t>(i) / width]; });
  return columns;
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<TopKAttrs>();
  const float* bias = in[1] ? in[1].row<const float>(0) : nullptr;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* scores = in[0].row<const float>(t);
    std::vector<float> values(scores, scores + in[0].cols());
    for (std::size_t i = 0; bias && i < values.size(); ++i) values[i] += bias[i];
    std::ranges::copy(largest(values, considered(a, values), a.k), out.row<std::int32_t>(t));
  }
}

std::int64_t granule(const Attrs& attrs, Specs, const TensorSpec&) {
  return attrs.as<TopKAttrs>().k;
}

constexpr OpInput kInputs[] = {{"scores", Reach::row}, {"bias", Reach::all, true}};

}  // namespace

const OpDef kTopK{.name = "top_k",
                  .inputs = kInputs,
                  .attrs = &kAttrsType<TopKAttrs>,
                  .infer = infer,
                  .reference = reference,
                  .bound = exact,
                  .col_granule = granule,
                  .cuts = {.whole = true}};

Tensor top_k(Tensor scores, const TopKAttrs& attrs, Tensor bias, SourceLine where) {
  return add_node(kTopK, {scores, bias}, attrs, where);
}

}  // namespace weft
