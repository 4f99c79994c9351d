// PLaMo: attention and ffn side by side behind one norm. PLaMo 2: Mamba in layers without kv heads,
// with one time step per head, and norms before and after every block. PLaMo 3: norms before and
// after both, and over every query and key head; a window in seven of eight layers, and there a
// rope of its own. Sources: Preferred Networks 2023, https://huggingface.co/pfnet/plamo-13b; 2025,
// https://huggingface.co/pfnet/plamo-2-8b and https://huggingface.co/pfnet/plamo-3-nict-8b-base.

#include <algorithm>

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

Decoder plamo(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "layer",
                     .pre_norm = "attn_norm",
                     .block = side_by_side(Attention{{rope_halves}}, swiglu)}}};
}

// Each head of ssm_in x is z, then what the convolution gets. ssm_x gives B, C and a projection
// of dt.
Tensor plamo2_mixer(const StateSpace& ssm, const Layer& l, Tensor x) {
  const std::int64_t I = ssm.I, H = ssm.dt_rank, P = I / H, N = ssm.N, D = l.c.D;
  const std::int64_t R = std::max<std::int64_t>(64, D / 16);
  const Tensor zx = split_heads(project(l.w, "ssm_in", 2 * I, D, x), H);  // [T, H, 2 P]
  const Tensor z = merge_heads(slice_heads(zx, 0, P));
  const Tensor u = ssm_convolution(l, ssm.K, merge_heads(slice_heads(zx, P, 2 * P)));
  const Tensor parts = project(l.w, "ssm_x", 2 * N + R, I, u);
  const Tensor b = split_heads(norm(l.w, "ssm_b_norm", l.c, slice(parts, 0, N)), 1);
  const Tensor c = split_heads(norm(l.w, "ssm_c_norm", l.c, slice(parts, N, 2 * N)), 1);
  const Tensor low = norm(l.w, "ssm_dt_norm", l.c, slice(parts, 2 * N, 2 * N + R));
  const Tensor dt = linear(low, l.w("ssm_dt.weight", {H, R}));
  const Tensor y = merge_heads(state_space_heads(l, split_heads(u, H), dt, b, c));
  return project(l.w, "ssm_out", D, I, mul(y, silu(z)));
}

Decoder plamo2(const MambaHparams& c) {
  return {.rope = {.attrs = c.rope}, .layer_of = [&c](std::int64_t i) {
            const auto mixer = [&c](const Layer& l, Tensor x) { return plamo2_mixer(c.ssm, l, x); };
            const bool attends = c.layer(i).G > 0;
            return sandwich_norm_layer(
                attends ? Block(Attention{{norm_heads, rope_halves}}) : Block(mixer), swiglu);
          }};
}

// As in llama.cpp, which such files are made for, heads are not rotated if the first layer has
// none.
MambaHparams read_plamo2(const Keys& keys) {
  Hparams c = read_usual<HparamsRules{.min_H = 0, .min_G = 0}>(keys);
  if (c.layer(0).H == 0) c.rope.n_rot = 0;
  return {c, read_state_space(keys, true)};
}

struct Plamo3 : Hparams {
  RopeAttrs local_rope = {};
};

Decoder plamo3(const Plamo3& c) {
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = sandwich_norm_layer(Attention{{norm_heads, rope_halves}}, swiglu)};
}

Plamo3 read(const Keys& keys) {
  Plamo3 c{read_usual<>(keys)};
  read_windows(keys, c, 8);
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

}  // namespace

extern const Architecture kPlamo, kPlamo2, kPlamo3;
constinit const Architecture kPlamo = decoder<plamo>("plamo");
constinit const Architecture kPlamo2 = decoder<plamo2, read_plamo2>("plamo2");
constinit const Architecture kPlamo3 = decoder<plamo3, read>("plamo3");

}  // namespace weft::arch
