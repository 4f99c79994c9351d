#include "pages/rwkv.h"

#include <string>

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/rows/views.h"

namespace weft::arch::rwkv {
namespace {

constexpr std::int64_t kMaxHeadWidth = 1 << 16;
constexpr float kHeadEps = 64e-5f;  // the same in every published model, whatever its head size

}  // namespace

void read_heads(const Keys& keys, Hparams& c, std::int64_t n_shifts) {
  const std::int64_t E = keys.count("wkv.head_size", kMaxHeadWidth);
  if (c.D % E != 0)
    keys.refuse("wkv.head_size", E, fmt::format("a divisor of the embedding length {}", c.D));
  for (LayerHparams& n : c.layers) n.H = n.G = c.D / E, n.E = n.Ev = E;
  keys.size_or("token_shift_count", n_shifts, n_shifts, n_shifts);
}

std::int64_t read_rank(const Keys& keys, std::string_view key) {
  return keys.count(key, kMaxWidth);
}

Tensor shifted(const Layer& l, std::string_view name, Tensor x) {
  const std::string state = fmt::format("shift.{}.{}", name, l.index);
  return l.in.memory.recurrent(state, {l.c.D}).token_shift(x);
}

std::vector<Tensor> mixes(Tensor x, Tensor previous, Tensor w) {
  const std::int64_t D = x.shape()[-1].bound;
  const Tensor all = merge_heads(lerp(split_heads(x, 1), split_heads(previous, 1), w));
  std::vector<Tensor> each;
  for (std::int64_t i = 0; i < all.shape()[-1].bound; i += D) each.push_back(slice(all, i, i + D));
  return each;
}

Tensor mix_weights(const Layer& l, std::string_view name, std::int64_t M) {
  return merge_heads(l.w(std::string(name) + ".weight", {M, 1, 1, l.c.D}));
}

Tensor low_rank(const Layer& l, std::string_view name, std::int64_t rank, Act act, Tensor x) {
  const std::string base(name);
  const Tensor y = project(l.w, base + "1", rank, l.c.D, x);
  return project(l.w, base + "2", l.c.D, rank, act ? act(y) : y);
}

Tensor norm_of_heads(const Layer& l, Tensor y) {
  const Tensor normed = merge_heads(layer_norm(y, kHeadEps));
  return add(mul(normed, l.w("time_mix_ln.weight", {l.c.D})), l.w("time_mix_ln.bias", {l.c.D}));
}

}  // namespace weft::arch::rwkv
