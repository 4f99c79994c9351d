// Encoders and diffusion language models that are decoders but for their masks: every token sees
// all others. Llama as embedder; EuroBERT; NeoBERT; ModernBERT, which sees a window in two of three
// layers; EmbeddingGemma, in five of six. Dream and LLaDA are Qwen 2 and Llama, RND1 and LLaDA-MoE
// mixtures of experts, all of which fill in masked tokens.
// Sources: Boizard et al. 2025, arXiv:2503.05500; Le Breton et al. 2025, arXiv:2502.19587; Warner
// et al. 2024, arXiv:2412.13663; Vera et al. 2025, arXiv:2509.20354; Ye et al. 2025,
// arXiv:2508.15487; Nie et al. 2025, arXiv:2502.09992.

#include "weft/arch/decoder.h"

#include "root.h"

namespace weft {
namespace {

Decoder adjacent(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_adjacent}}, Moe{})};
}

Decoder halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{})};
}

Decoder norm_then_halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

Decoder neo_bert(const Hparams& c) {
  Decoder d = adjacent(c);
  d.final_norm = "enc.output_norm";
  d.unused = {"cls.weight", "cls.bias", "cls.output.weight", "cls.output.bias"};
  return d;
}

struct Windowed : Hparams {
  RopeAttrs local_rope = {};
  bool silu = false;
};

Decoder modern_bert(const Windowed& c) {
  const Ffn ffn{c.silu ? act::silu : act::gelu};
  const auto layer = [ffn](std::int64_t i) {
    std::vector<Residual> steps = pre_norm_layer(Attention{{rope_halves}}, ffn);
    if (i == 0) steps[0].pre_norm = {};  // the embeddings are normed already
    return steps;
  };
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .embedding_norm = "token_embd_norm",
          .layer_of = layer,
          .unused = {"cls.weight", "cls.bias", "cls.output.weight", "cls.output.bias",
                     "cls.norm.weight"}};
}

Decoder gemma_embedding(const Windowed& c) {
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .embedding_scale = arch::root(c.D),
          .layer = sandwich_norm_layer(Attention{{norm_heads, rope_halves}}, Ffn{act::gelu})};
}

constexpr auto read = read_usual<HparamsRules{.causal = false}>;

Windowed read_modern_bert(const Keys& keys) {
  Windowed c{read_usual<HparamsRules{.norm = NormKind::layer, .causal = false}>(keys)};
  read_windows(keys, c, 3, {.full_first = true});
  c.local_rope = read_local_rope(keys, c, 10000);
  const auto act = keys.source().find_string(keys.name("hidden_activation"));
  c.silu = act && (*act == "silu" || *act == "swiglu");
  return c;
}

Windowed read_gemma_embedding(const Keys& keys) {
  Windowed c{read(keys)};
  read_windows(keys, c, 6);
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

}  // namespace

extern const Architecture kDream, kEuroBert, kGemmaEmbedding, kLlada, kLladaMoe, kLlamaEmbed,
    kModernBert, kNeoBert, kRnd1;
constinit const Architecture kDream = diffusing(decoder<halves, read>("dream"));
constinit const Architecture kEuroBert = decoder<halves, read>("eurobert");
constinit const Architecture kGemmaEmbedding =
    decoder<gemma_embedding, read_gemma_embedding>("gemma-embedding");
constinit const Architecture kLlada = diffusing(decoder<adjacent, read>("llada"));
constinit const Architecture kLladaMoe = diffusing(
    decoder<norm_then_halves,
            read_with_experts<ExpertRules{.normalize = false}, HparamsRules{.causal = false}>>(
        "llada-moe"));
constinit const Architecture kLlamaEmbed = decoder<adjacent>("llama-embed");
constinit const Architecture kModernBert = decoder<modern_bert, read_modern_bert>("modern-bert");
constinit const Architecture kNeoBert = decoder<neo_bert, read>("neo-bert");
constinit const Architecture kRnd1 = diffusing(
    decoder<norm_then_halves,
            read_with_experts<ExpertRules{.normalize = true}, HparamsRules{.causal = false}>>(
        "rnd1"));

}  // namespace weft
