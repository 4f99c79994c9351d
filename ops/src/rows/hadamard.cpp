#include "weft/ops/rows/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "weft/ops/cuts.h"

#include "op_support.h"

namespace weft {

std::int64_t hadamard_part(std::int64_t rest) {
  const auto fits = std::bit_floor(static_cast<std::uint64_t>(rest));
  return std::min(static_cast<std::int64_t>(fits), kMaxHadamardPart);
}

namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec& x = in[0];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, E]");
  return x;
}

// Calls f(row, first column, elements) for every part of every head.
template <class F>
void for_each_part(const View& x, F f) {
  const std::int64_t e = x.dim(2);
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    for (std::int64_t head = 0; head < x.cols(); head += e) {
      for (std::int64_t i = 0, n = 0; i < e; i += n) f(t, head + i, n = hadamard_part(e - i));
    }
  }
}

void reference(const Attrs&, Views in, View out) {
  std::vector<double> x;
  for_each_part(in[0], [&](std::int64_t t, std::int64_t begin, std::int64_t n) {
    const float* from = in[0].row<const float>(t) + begin;
    x.assign(from, from + n);  // `out` may be the same memory
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const bool minus = std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 1;
        sum += minus ? -x[static_cast<std::size_t>(j)] : x[static_cast<std::size_t>(j)];
      }
      const double root = std::sqrt(static_cast<double>(n));
      out.row<float>(t)[begin + i] = static_cast<float>(sum / root);
    }
  });
}

// log2(n) additions, the factor, and the product with it.
void bound(const Attrs&, Views in, View bounds) {
  for_each_part(in[0], [&](std::int64_t t, std::int64_t begin, std::int64_t n) {
    const float* x = in[0].row<const float>(t) + begin;
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::fabs(static_cast<double>(x[i]));
    const double terms = std::log2(static_cast<double>(n)) + 2;
    const double error = rounding(terms) * sum / std::sqrt(static_cast<double>(n));
    std::fill_n(bounds.row<float>(t) + begin, n, bound_up(error + (terms + 1) * kFlushed));
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const auto n = static_cast<double>(hadamard_part(out.shape.last()));
  return moves(in, out, extents, elems_at(out, extents) * static_cast<std::int64_t>(std::log2(n)));
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kHadamard{.name = "hadamard",
                      .inputs = kInputs,
                      .infer = infer,
                      .reference = reference,
                      .bound = bound,
                      .cost = cost,
                      .col_granule = last_dimension,
                      .in_place_over = 0,
                      .cuts = {.inputs = cut_by_heads, .linear = LinearIn::first},
                      .positions = Positions::turn};

Tensor hadamard(Tensor x, SourceLine where) {
  return add_node(kHadamard, {x}, {}, where);
}

}  // namespace weft
