#include "weft/ops/recurrent/causal_conv.h"

#include "weft/ops/elementwise/silu.h"

#include "recurrent/token_runs.h"

namespace weft {
namespace {

using namespace ops;
using namespace causal_conv_inputs;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[kX], &w = in[kW];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, C]");
  const std::int64_t width = x.shape[1].bound;
  expect_format("w", w);
  const bool fits = w.shape.n_dims() == 2 && w.shape[0] == Dim(width) && w.shape[1].bound >= 2;
  expect_form(fits, "w", w, "[{}, K], K >= 2", width);
  if (in[kBias].present()) {
    expect_dtype("bias", in[kBias], f32);
    expect_shape("bias", in[kBias], {width});
  }
  expect_state_rows(in, x.shape[0], {width, w.shape[1].bound - 1});
  return x;
}

// The last K inputs of one channel along the tokens of a run.
class History {
 public:
  History(Views in, const TokenRuns::Run& run, std::int64_t channel)
      : x_(in[kX]), channel_(channel), inputs_(static_cast<std::size_t>(in[kW].dim(1))) {
    const std::int64_t kept = in[kW].dim(1) - 1;
    if (run.from < 0) return;
    std::copy_n(in[kState].row<const float>(run.from) + channel * kept, kept, inputs_.begin() + 1);
  }
  // Moves on to token t. Returns K inputs, the last one that of t.
  const std::vector<float>& advance(std::int64_t t) {
    std::shift_left(inputs_.begin(), inputs_.end(), 1);
    inputs_.back() = x_.row<const float>(t)[channel_];
    return inputs_;
  }

 private:
  View x_;
  std::int64_t channel_;
  std::vector<float> inputs_;
};

// Calls each(token, channel, inputs, weights of the channel).
template <class F>
void for_each_output(Views in, const TokenRuns& tokens, F each) {
  const std::int64_t width = in[kX].dim(1), taps = in[kW].dim(1);
  const std::vector<float> w = decode_rows(in[kW]);
  for (const TokenRuns::Run& run : tokens.runs) {
    for (std::int64_t c = 0; c < width; ++c) {
      History history(in, run, c);
      for (const std::int64_t t : run.tokens) each(t, c, history.advance(t), &w[c * taps]);
    }
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  const bool activated = attrs.as<CausalConvAttrs>().silu;
  const float* bias = in[kBias] ? in[kBias].row<const float>(0) : nullptr;
  const TokenRuns tokens(in);
  for_each_output(in, tokens, [&](std::int64_t t, std::int64_t c, const auto& x, const float* w) {
    double sum = bias ? bias[c] : 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += static_cast<double>(w[j]) * x[j];
    out.row<float>(t)[c] = static_cast<float>(activated ? silu_of(sum) : sum);
    if (const std::int32_t row = tokens.to[t]; row >= 0) {
      const auto kept = static_cast<std::int64_t>(x.size()) - 1;
      std::copy_n(x.begin() + 1, kept, in[kState].row<float>(row) + c * kept);
    }
  });
}

// K products, K sums, and the rounding of the result.
void bound(const Attrs& attrs, Views in, View bounds) {
  const bool activated = attrs.as<CausalConvAttrs>().silu;
  const float* bias = in[kBias] ? in[kBias].row<const float>(0) : nullptr;
  const TokenRuns tokens(in);
  for_each_output(in, tokens, [&](std::int64_t t, std::int64_t c, const auto& x, const float* w) {
    double sum = bias ? bias[c] : 0.0, magnitude = std::fabs(sum), flushed = 1;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double product = static_cast<double>(w[j]) * x[j];
      sum += product;
      magnitude += std::fabs(product);
      flushed += 2 + std::fabs(w[j]) + std::fabs(x[j]);
    }
    const double n = static_cast<double>(x.size()) + 2;
    const double error = rounding(n) * magnitude + flushed * kFlushed;
    bounds.row<float>(t)[c] = bound_up(activated ? silu_error_near(sum, error) : error);
  });
}

// The rows of the state: one is read, and one written, for every token at most.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t moved = bytes_at(out, extents), taps = in[kW].shape[1].bound;
  return {.bytes_read = moved * taps + bytes_at(in[kW], extents) + bytes_at(in[kBias], extents),
          .bytes_written = moved * taps,
          .multiply_adds = elems_at(out, extents) * taps};
}

ColRange map_cols(const Attrs&, Specs in, int index, ColRange out) {
  if (index != static_cast<int>(kState)) return out;
  const std::int64_t kept = in[kState].shape.last();
  return {out.begin * kept, out.end * kept};
}

Tensor definition(const Attrs& attrs, std::span<const Tensor> in) {
  const Tensor y =
      causal_conv(in[kX], in[kW], in[kBias], {in[kState], in[kFrom], in[kBefore], in[kTo]});
  return attrs.as<CausalConvAttrs>().silu ? silu(y) : y;
}

constexpr OpInput kInputs[] = {
    {"x", Reach::col},    {"w", Reach::all},      {"bias", Reach::col, true}, {"state", Reach::col},
    {"from", Reach::all}, {"before", Reach::all}, {"to", Reach::all}};

}  // namespace

const OpDef kCausalConv{.name = "causal_conv",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<CausalConvAttrs>,
                        .named_after = 1,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .cost = cost,
                        .map_cols = map_cols,
                        .splits_rows = false,
                        .updates = kState,
                        .definition = definition};

Tensor causal_conv(Tensor x, Tensor w, Tensor bias, const StateRows& rows, SourceLine where) {
  return add_node(kCausalConv, {x, w, bias, rows.state, rows.from, rows.before, rows.to},
                  CausalConvAttrs{}, where);
}

}  // namespace weft
