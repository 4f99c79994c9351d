#include "weft/ops/projections/expert_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/ops/formats/q8a.h"

#include "projections/projection.h"

namespace weft {
namespace {

using namespace ops;

void check_part(const ExpertLinearAttrs& a, std::int64_t n_experts) {
  const std::int64_t all = a.all > 0 ? a.all : n_experts;
  if (a.all < 0 || a.first < 0 || a.first > all - n_experts)
    fail<ValueError>("{} experts from {} on must be a part of {}", n_experts, a.first, all);
}

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &x = in[0], &w = in[1], &ids = in[2];
  if (x.dtype != f32 && x.dtype != q8a)
    fail<DTypeError>("x must be F32 or Q8A, got {}", x.dtype.name());
  expect_dtype("ids", ids, i32);
  expect_form(ids.shape.n_dims() == 2, "ids", ids, "[T, K]");
  const bool each = x.shape.n_dims() == 3 && x.shape[1] == ids.shape[1];
  const bool fits = (x.shape.n_dims() == 2 || each) && x.shape[0] == ids.shape[0];
  expect_form(fits, "x", x, "[{0}, D] or [{0}, {1}, D]", to_string(ids.shape[0]),
              to_string(ids.shape[1]));
  expect_format("w", w);
  const std::int64_t d = x.shape.last();
  const bool matrices = w.shape.n_dims() == 3 && !w.shape[0].varies() && w.shape.last() == d;
  expect_form(matrices, "w", w, "[X, N, {}]", d);
  check_part(attrs.as<ExpertLinearAttrs>(), w.shape[0].bound);
  for (const DType dtype : {x.dtype, w.dtype}) {
    if (d % dtype.block_elems() != 0)
      fail<ShapeError>("D must be a multiple of {} for {}, got {}", dtype.block_elems(),
                       dtype.name(), d);
  }
  return {f32, {ids.shape[0], ids.shape[1], w.shape[1]}};
}

// What ids choose that w does not have.
constexpr std::int64_t kNoExpert = -1, kElsewhere = -2;

// Calls f(y, x, e, w) for every token and choice: where the N results go, the D values of x, the
// index of the chosen expert in w, and its matrix, or kNoExpert or kElsewhere and null.
template <class F>
void for_each_choice(const Attrs& attrs, Views in, View out, F f) {
  const View &x = in[0], &w = in[1];
  const std::vector<float> rows = decode_rows(x);
  const std::int64_t d = x.dim(-1), n = out.dim(2), n_choices = out.dim(1);
  const auto& part = attrs.as<ExpertLinearAttrs>();
  const std::int64_t all = part.all > 0 ? part.all : w.rows();
  RowReader experts(w);
  for (std::int64_t e = kElsewhere; e < w.rows(); ++e) {
    const float* matrix = e < 0 ? nullptr : experts[e];
    for (std::int64_t t = 0; t < out.rows(); ++t) {
      const std::int32_t* ids = in[2].row<const std::int32_t>(t);
      for (std::int64_t k = 0; k < n_choices; ++k) {
        std::int64_t chosen = ids[k] - part.first;
        if (chosen < 0 || chosen >= w.rows())
          chosen = ids[k] < 0 || ids[k] >= all ? kNoExpert : kElsewhere;
        if (chosen != e) continue;
        const float* xt = rows.data() + t * x.cols() + (x.n_dims == 3 ? k * d : 0);
        f(out.row<float>(t) + k * n, xt, e, matrix);
      }
    }
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int64_t d = in[0].dim(-1), n = out.dim(2);
  for_each_choice(attrs, in, out, [&](float* y, const float* x, std::int64_t e, const float* w) {
    if (!w) {
      const float value = e == kElsewhere ? 0.0f : std::numeric_limits<float>::quiet_NaN();
      return void(std::fill_n(y, n, value));
    }
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * w[i * d + j];
      y[i] = static_cast<float>(sum);
    }
  });
}

void bound(const Attrs& attrs, Views in, View bounds) {
  const std::int64_t d = in[0].dim(-1), n = bounds.dim(2);
  const bool quantized = in[1].dtype.is_quantized();
  for_each_choice(attrs, in, bounds, [&](float* b, const float* x, std::int64_t, const float* w) {
    if (!w) return void(std::fill_n(b, n, 0.0f));
    for (std::int64_t i = 0; i < n; ++i) {
      b[i] = bound_up(projection_error(x, used_magnitudes(w + i * d, d, quantized)));
    }
  });
}

// Reads the experts that may be chosen, each once. Of a part of the experts, as many are chosen as
// there would be if all were chosen equally often.
Cost cost(const Attrs& attrs, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n_experts = in[1].shape[0].bound;
  const std::int64_t all = std::max(attrs.as<ExpertLinearAttrs>().all, n_experts);
  const double share = static_cast<double>(n_experts) / static_cast<double>(all);
  const auto here = [&](std::int64_t n) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * share));
  };
  const std::int64_t n_chosen = std::min(n_experts, here(elems_at(in[2], extents)));
  return {.bytes_read =
              bytes_at(in[0], extents) + bytes_at(in[2], extents) + in[1].row_bytes() * n_chosen,
          .bytes_written = bytes_at(out, extents),
          .multiply_adds = here(elems_at(out, extents) * in[1].shape.last())};
}

// The results of one choice. Every lane computes a part of each, so that lanes have the same work
// however uneven the choices are.
std::vector<std::int64_t> col_segments(const Attrs&, Specs in) {
  std::vector<std::int64_t> ends;
  const std::int64_t n = in[1].shape[1].bound, n_choices = in[2].shape[1].bound;
  for (std::int64_t k = 1; k <= n_choices; ++k) ends.push_back(k * n);
  return ends;
}

// The matrices of a part's experts. Their results are zeros in the rows of other experts.
Cuts cut_experts(const Attrs& attrs, Specs in, const Cut& cut) {
  if (attrs.as<ExpertLinearAttrs>().all != 0 || in[1].shape[0].bound != cut.ends.back())
    return std::nullopt;
  return Cuts({in[0].shape.n_dims() == 3 ? cut : Cut{}, cut.moved(0), Cut{}});
}

Cuts cut_cols(const Attrs& attrs, Specs in, const TensorSpec&, const Cut& cut) {
  if (cut.by_experts()) return cut_experts(attrs, in, cut);
  return cut.axis == 2 ? Cuts({Cut{}, cut.moved(1), Cut{}}) : std::nullopt;
}

Cuts cut_terms(const Attrs& attrs, Specs in, const TensorSpec&, const Cut& cut) {
  if (cut.by_experts()) return cut_experts(attrs, in, cut);
  if (cut.axis != in[0].shape.n_dims() - 1) return std::nullopt;
  return Cuts({cut, cut.moved(2), Cut{}});
}

Attrs attrs_of_part(const Attrs& attrs, const Cut& cut, int part) {
  if (!cut.by_experts()) return attrs;
  return ExpertLinearAttrs{.first = cut.begin(part), .all = cut.ends.back()};
}

constexpr OpInput kInputs[] = {
    {"x", Reach::row},
    {.name = "w", .reach = Reach::all, .use = InputUse::matrix, .chosen_by = 2},
    {"ids", Reach::row}};

}  // namespace

const OpDef kExpertLinear{.name = "expert_linear",
                          .inputs = kInputs,
                          .attrs = &kAttrsType<ExpertLinearAttrs>,
                          .named_after = 1,
                          .infer = infer,
                          .reference = reference,
                          .bound = bound,
                          .cost = cost,
                          .col_segments = col_segments,
                          .cuts = {.inputs = cut_cols, .terms = cut_terms, .attrs = attrs_of_part}};

Tensor expert_linear(Tensor x, Tensor w, Tensor ids, const ExpertLinearAttrs& part,
                     SourceLine where) {
  return add_node(kExpertLinear, {x, w, ids}, part, where);
}

}  // namespace weft
