// Mamba (also FalconMamba), and Mamba 2: layers of one mixer, without attention and without an ffn.
// Sources: Gu & Dao 2023, arXiv:2312.00752; Dao & Gu 2024, arXiv:2405.21060.

#include "weft/arch/mamba.h"

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

constexpr HparamsRules kNoHeads{.min_H = 0, .min_G = 0, .min_F = 0};

template <bool heads>
MambaHparams read(const Keys& keys) {
  const Hparams c = read_hparams(keys, kNoHeads);
  require_dense(keys, c);
  return {c, read_state_space(keys, heads)};
}

template <class Mixer>
Decoder mixers(const MambaHparams& c) {
  return {.layer = {{.name = "ssm", .pre_norm = "attn_norm", .block = Mixer{c.ssm}}}};
}

}  // namespace

extern const Architecture kMamba, kMamba2;
constinit const Architecture kMamba = decoder<mixers<Mamba>, read<false>>("mamba");
constinit const Architecture kMamba2 = decoder<mixers<Mamba2>, read<true>>("mamba2");

}  // namespace weft::arch
