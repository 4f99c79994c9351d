// Nanbeige 4: as Llama, with layers that run several times in a row. Every pass has keys and values
// of its own; between passes the stream is normalized as before the head.
// Source: the metadata and tensors of its GGUF files.

#include <optional>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/rows/get_rows.h"

namespace weft::arch {
namespace {

struct Nanbeige : Hparams {  // layers: those of every pass
  std::int64_t n_passes = 1;
  bool norm_between = true;
};

Tensor build(const Weights& w, const Nanbeige& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  const Tensor angles = rope_angles(in.pos, c.rope, rope_factors(w, c, in));
  const Attention attention{{rope_adjacent}};
  Tensor h = get_rows(embd, in.tokens);
  for (std::int64_t pass = 0; pass < c.n_passes; ++pass) {
    std::optional<Graph::Scope> scope;  // prefixes the names of nodes
    if (pass > 0) scope.emplace(h.graph(), fmt::format("pass.{}", pass));
    if (pass > 0 && c.norm_between) h = norm(w, "output_norm", c, h);
    for (std::int64_t i = 0; i < c.L; ++i) {
      const Weights blk = w.block(i);
      const Layer l{blk, c, in, pass * c.L + i, angles};
      h = add(h, attention(l, norm(blk, "attn_norm", c, h)));
      h = add(h, swiglu(l, norm(blk, "ffn_norm", c, h)));
    }
  }
  return head(w, c, h, embd, in);
}

Nanbeige read(const Keys& keys) {
  constexpr std::int64_t kMaxLayers = 4096;
  Nanbeige c{read_usual<>(keys)};
  c.n_passes = std::max<std::int64_t>(1, keys.size_or("num_loops", 0, kMaxLayers / c.L, 1));
  c.norm_between = !keys.flag_or("skip_loop_final_norm", false);
  c.layers.resize(static_cast<std::size_t>(c.L));
  const std::vector<LayerHparams> once = c.layers;
  for (std::int64_t pass = 1; pass < c.n_passes; ++pass)
    c.layers.insert(c.layers.end(), once.begin(), once.end());
  return c;
}

}  // namespace

extern const Architecture kNanbeige;
constinit const Architecture kNanbeige = architecture<build, read>("nanbeige");

}  // namespace weft::arch
