// Apertus: a norm over every query and key head before rope, and an ffn without a gate whose
// activation, xIELU, has constants of its own in every layer.
// Source: Swiss AI Initiative 2025, arXiv:2509.14233.

#include <algorithm>
#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/xielu.h"

namespace weft::arch {
namespace {

struct Apertus : Hparams {
  std::vector<XieluAttrs> xielu = {};  // [L], or [L + n_nextn]
};

Tensor ffn(const Layer& l, Tensor x) {
  const auto& c = l.config<Apertus>();
  const std::int64_t F = l.hparams().F;
  if (l.index >= std::ssize(c.xielu))
    fail<FormatError>("the keys 'xielu.*' have no number for layer {}, which drafts", l.index);
  const Tensor up = project(l.w, "ffn_up", F, c.D, x);
  return project(l.w, "ffn_down", c.D, F, xielu(up, c.xielu[static_cast<std::size_t>(l.index)]));
}

Decoder apertus(const Apertus& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, ffn)};
}

// These keys have no prefix: one number, or one for each layer.
std::vector<float> constants(const Keys& keys, const Hparams& c, const std::string& key) {
  constexpr float kMax = 1e6f;
  const ModelSource& source = keys.source();
  std::vector<float> values = source.find_floats(key);
  if (values.empty() && source.make_up(key)) values = source.find_floats(key);
  if (values.empty()) fail<FormatError>("{}: key '{}' is missing", source.file(), key);
  if (values.size() == 1) values.resize(c.layers.size(), values[0]);
  if (std::ssize(values) != c.L && values.size() != c.layers.size()) {
    fail<FormatError>(
        "{}: key '{}' has {} numbers, must have one, or one for each of the {} layers",
        source.file(), key, values.size(), c.L);
  }
  for (const float value : values) {
    if (!(std::fabs(value) <= kMax)) {
      fail<FormatError>("{}: key '{}' has {}, must be within {}..{}", source.file(), key, value,
                        -kMax, kMax);
    }
  }
  return values;
}

float softplus(float x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}

Apertus read(const Keys& keys) {
  Apertus c{read_usual<>(keys)};
  const std::vector<float> positive = constants(keys, c, "xielu.alpha_p"),
                           negative = constants(keys, c, "xielu.alpha_n"),
                           beta = constants(keys, c, "xielu.beta"),
                           limit = constants(keys, c, "xielu.eps");
  const std::size_t n = std::min({positive.size(), negative.size(), beta.size(), limit.size()});
  for (std::size_t i = 0; i < n; ++i) {
    c.xielu.push_back({softplus(positive[i]), beta[i] + softplus(negative[i]), beta[i], limit[i]});
  }
  return c;
}

}  // namespace

extern const Architecture kApertus;
constinit const Architecture kApertus = decoder<apertus, read>("apertus");

}  // namespace weft::arch
