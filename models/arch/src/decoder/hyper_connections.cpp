#include "decoder/hyper_connections.h"

#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

// What stream_weights() gives for `width` projections of the streams.
Tensor weights_of(const Weights& w, const Hparams& c, std::string_view name,
                  const StreamNames& names, const StreamWeightsAttrs& attrs, std::int64_t width,
                  Tensor h) {
  const auto named = [&](std::string_view end) { return fmt::format("{}{}", name, end); };
  const std::int64_t n_scales = width == attrs.n ? 1 : 3, D = attrs.n * c.D;
  Tensor x = rms_norm(h, c.eps);
  if (!names.norm.empty()) x = mul(x, w(named(names.norm), {D}));
  x = project(w, named(names.fn), width, D, x);
  return stream_weights(x, w(named(names.scale), {n_scales}), w(named(names.base), {width}), attrs)
      .named(named("_weights"));
}

}  // namespace

Tensor copy_to_streams(Tensor x, std::int64_t n) {
  return concat(std::vector<Tensor>(static_cast<std::size_t>(n), x));
}

Tensor connect(const Layer& l, std::string_view name, const StreamWeightsAttrs& attrs,
               const Block& block, Tensor h, const StreamNames& names) {
  const std::int64_t n = attrs.n;
  const Tensor weights = weights_of(l.w, l.c, name, names, attrs, n * (n + 2), h);
  const Tensor y = block(l, weighted_sum(split_heads(h, n), slice(weights, 0, n)));
  const Tensor all = split_heads(concat(std::vector{y, h}), n + 1);
  std::vector<Tensor> streams;
  for (std::int64_t at = n; at < n * (n + 2); at += n + 1)
    streams.push_back(weighted_sum(all, slice(weights, at, at + n + 1)));
  return concat(streams).named(std::string(name) + "_streams");
}

Tensor read_streams(const Weights& w, const Hparams& c, std::string_view name,
                    const StreamWeightsAttrs& attrs, Tensor h, const StreamNames& names) {
  const Tensor weights = weights_of(w, c, name, names, attrs, attrs.n, h);
  return weighted_sum(split_heads(h, attrs.n), weights);
}

}  // namespace weft::arch
