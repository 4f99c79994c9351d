#include "weft/ops/recurrent/centred_conv.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &w = in[1];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, C]");
  const std::int64_t width = x.shape[1].bound;
  expect_format("w", w);
  const bool fits = w.shape.n_dims() == 2 && w.shape[0] == Dim(width) && w.shape[1].bound % 2 == 1;
  expect_form(fits, "w", w, "[{}, K], K odd", width);
  expect_dtype("before", in[2], i32);
  expect_shape("before", in[2], {x.shape[0]});
  return x;
}

// The tokens at each distance from every token: [taps][T], -1 for none.
std::vector<std::vector<std::int64_t>> neighbours(const View& before, std::int64_t taps) {
  const std::int64_t n = before.cols(), middle = taps / 2;
  std::vector<std::int64_t> previous(static_cast<std::size_t>(n)), next(previous.size(), -1);
  std::vector<std::vector<std::int64_t>> at(static_cast<std::size_t>(taps), previous);
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int64_t earlier = before.row<const std::int32_t>(0)[t];
    previous[static_cast<std::size_t>(t)] = earlier;
    if (earlier >= 0) next[static_cast<std::size_t>(earlier)] = t;
  }
  const auto from = [](const std::vector<std::int64_t>& step, std::int64_t t) {
    return t < 0 ? -1 : step[static_cast<std::size_t>(t)];
  };
  for (std::size_t t = 0; t < previous.size(); ++t) {
    const auto tap = [&](std::int64_t j) -> std::int64_t& {
      return at[static_cast<std::size_t>(j)][t];
    };
    tap(middle) = static_cast<std::int64_t>(t);
    for (std::int64_t j = middle; j > 0; --j) tap(j - 1) = from(previous, tap(j));
    for (std::int64_t j = middle; j < taps - 1; ++j) tap(j + 1) = from(next, tap(j));
  }
  return at;
}

// Calls each(token, channel, products).
template <class F>
void for_each_output(Views in, F each) {
  const View& x = in[0];
  const std::int64_t taps = in[1].dim(1);
  const std::vector<float> w = decode_rows(in[1]);
  const auto at = neighbours(in[2], taps);
  std::vector<double> products(at.size());
  for (std::int64_t t = 0; t < x.dim(0); ++t) {
    for (std::int64_t c = 0; c < x.dim(1); ++c) {
      for (std::size_t j = 0; j < at.size(); ++j) {
        const std::int64_t token = at[j][static_cast<std::size_t>(t)];
        const float tap = w[static_cast<std::size_t>(c * taps) + j];
        products[j] = token < 0 ? 0 : static_cast<double>(tap) * x.row<const float>(token)[c];
      }
      each(t, c, products);
    }
  }
}

void reference(const Attrs&, Views in, View out) {
  for_each_output(in, [&](std::int64_t t, std::int64_t c, const std::vector<double>& products) {
    double sum = 0;
    for (const double product : products) sum += product;
    out.row<float>(t)[c] = static_cast<float>(sum);
  });
}

// K products, K sums, and the rounding of the result.
void bound(const Attrs&, Views in, View bounds) {
  for_each_output(in, [&](std::int64_t t, std::int64_t c, const std::vector<double>& products) {
    double magnitude = 0;
    for (const double product : products) magnitude += std::fabs(product);
    const double n = static_cast<double>(products.size());
    bounds.row<float>(t)[c] =
        bound_up(rounding(n + 2) * magnitude + (2 * n + 1 + magnitude) * kFlushed);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t taps = in[1].shape[1].bound;
  return moves(in, out, extents, elems_at(out, extents) * taps);
}

constexpr OpInput kInputs[] = {{"x", Reach::col}, {"w", Reach::all}, {"before", Reach::all}};

}  // namespace

const OpDef kCentredConv{.name = "centred_conv",
                         .inputs = kInputs,
                         .named_after = 1,
                         .infer = infer,
                         .reference = reference,
                         .bound = bound,
                         .cost = cost,
                         .splits_rows = false};

Tensor centred_conv(Tensor x, Tensor w, Tensor before, SourceLine where) {
  return add_node(kCentredConv, {x, w, before}, {}, where);
}

}  // namespace weft
