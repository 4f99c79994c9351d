#include "decoder/altup.h"

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kStreams = 4;

// Every row of x [T, D] times a factor [T, 1].
Tensor scale_rows(Tensor x, Tensor factors) {
  return merge_heads(scale_heads(split_heads(x, 1), factors));
}

// y with the length of x, row by row.
Tensor with_length_of(Tensor x, Tensor y) {
  constexpr float kEps = 1e-30f;
  const std::int64_t D = x.shape()[1].bound;
  const Tensor sum = weighted_sum(split_heads(x, D), rms_norm(x, kEps));  // of x x / rms: D rms
  return scale_rows(rms_norm(y, kEps), scale(sum, 1 / static_cast<float>(D)));
}

// A matrix of `name` for each of the streams but the first.
Streams project_streams(const Weights& w, std::string_view name, const Streams& streams) {
  const std::int64_t D = streams[0].shape()[1].bound, n = std::ssize(streams);
  const Tensor matrices = w(std::string(name) + ".weight", {n, D, D});
  const Tensor y = merge_heads(head_linear(split_heads(concat(streams), n), matrices));
  Streams projected;
  for (std::int64_t i = 0; i < n; ++i) projected.push_back(slice(y, i * D, (i + 1) * D));
  return projected;
}

// The coefficients that x [T, D] gives for mixing streams: [T, n].
Tensor coefficients(const Layer& l, std::string_view name, std::int64_t n, Tensor x) {
  const std::int64_t D = l.c.D;
  const Tensor routed = scale(norm(l.w, "altup_router_norm", l.c, x), 1 / static_cast<float>(D));
  const Tensor modes = tanh(project(l.w, "altup_router", kStreams, D, routed));  // [T, kStreams]
  return project(l.w, name, n, kStreams, modes);
}

}  // namespace

Streams predict(const Layer& l, const Streams& streams) {
  const Tensor mix = coefficients(l, "altup_predict_coef", kStreams * kStreams, streams[0]);
  const Tensor all = split_heads(concat(streams), kStreams);  // [T, kStreams, D]
  Streams predicted;
  for (std::int64_t i = 0; i < kStreams; ++i) {
    const Tensor sum = weighted_sum(all, slice(mix, i * kStreams, (i + 1) * kStreams));
    predicted.push_back(add(streams[static_cast<std::size_t>(i)], sum));
  }
  return predicted;
}

Streams correct(const Layer& l, const Streams& predicted, Tensor y) {
  const Tensor mix = coefficients(l, "altup_correct_coef", kStreams, y);
  const Tensor change = add(y, scale(predicted[0], -1));
  Streams corrected;
  for (std::int64_t i = 0; i < kStreams; ++i) {
    const Tensor sum = add(predicted[static_cast<std::size_t>(i)], change);
    corrected.push_back(add(sum, scale_rows(change, slice(mix, i, i + 1))));
  }
  return corrected;
}

Streams first_streams(const Weights& w, Tensor h) {
  Streams streams{h};
  for (const Tensor y : project_streams(w, "altup_proj", {h, h, h}))
    streams.push_back(with_length_of(h, y));
  return streams;
}

Tensor mean_of(const Weights& w, const Streams& streams) {
  Tensor sum = streams[0];
  for (const Tensor y :
       project_streams(w, "altup_unembd_proj", {streams.begin() + 1, streams.end()}))
    sum = add(sum, with_length_of(streams[0], y));
  return scale(sum, 1 / static_cast<float>(kStreams));
}

}  // namespace weft::arch
