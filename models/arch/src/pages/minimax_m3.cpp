// MiniMax M3: experts whose units are clamped, and attention to spans of positions: every kv head
// has an indexer of its own, which takes the best spans and those around the token.
// Source: MiniMax 2026, https://huggingface.co/MiniMaxAI.

#include "weft/arch/decoder.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

struct MiniMaxM3 : Hparams {
  std::int64_t E = 0;  // elements of the indexer's heads
  ChoosePositionsAttrs choice = {};
};

// Layers with experts have indexers.
Memory chosen(const Layer& l, Tensor x) {
  if (!l.hparams().experts) return l.in.memory;
  const auto& c = l.config<MiniMaxM3>();
  const auto heads = [&](std::string_view name, std::int64_t n) {
    Tensor y = split_heads(project(l.w, std::string(name) + "_proj", n * c.E, c.D, x), n);
    return rope_halves(l, name, norm_heads(l, name, y));
  };
  const std::int64_t G = l.hparams().G;
  return l.in.memory.chosen(
      l.in.memory.choose(l.index, heads("indexer.q", G), heads("indexer.k", 1), c.choice));
}

Tensor ffn(const Layer& l, Tensor x) {
  return l.hparams().experts ? Moe{unit::clamped_swiglu}(l, x)
                             : gated_ffn(l, x, unit::clamped_swiglu);
}

Decoder minimax_m3(const MiniMaxM3& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves}, .memory = chosen};
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(attention, ffn)};
}

MiniMaxM3 read(const Keys& keys) {
  constexpr std::int64_t kMax = 1 << 20;
  MiniMaxM3 c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false, .required = true});
  const IndexerHparams indexer = read_indexer(keys, c);
  for (const LayerHparams& n : c.layers) {
    if (n.experts && n.G != indexer.H)
      keys.refuse("attention.indexer.head_count", indexer.H, fmt::format("{}, the kv heads", n.G));
  }
  c.E = indexer.E;
  c.choice.k = indexer.top_k;
  c.choice.span = static_cast<std::int32_t>(keys.count("attention.indexer.block_size", kMax));
  c.choice.always =
      static_cast<std::int32_t>(keys.size_or("attention.indexer.local_blocks", 0, kMax, 0));
  return c;
}

}  // namespace

extern const Architecture kMiniMaxM3;
constinit const Architecture kMiniMaxM3 = decoder<minimax_m3, read>("minimax-m3");

}  // namespace weft::arch
