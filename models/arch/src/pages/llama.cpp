// Llama 1 to 3, Mistral, Mixtral, Yi, SmolLM and others with their layout: RMS norms before
// attention and ffn, grouped heads, rope over adjacent pairs, SwiGLU or a mixture of such experts.
// Sources: Touvron et al. 2023, arXiv:2302.13971; Grattafiori et al. 2024, arXiv:2407.21783
// (rope_freqs); Jiang et al. 2024, arXiv:2401.04088 (experts).
// A key llama.attention.scale has no effect in the engines whose files these are, so it has none
// here.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder llama(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_adjacent}}, Moe{})};
}

Hparams read(const Keys& keys) {
  Hparams c = read_hparams(keys);
  read_experts(keys, c, {.width = ExpertWidth::own_or_ffn});
  const std::int64_t E = c.layer(0).E;
  if (c.rope.n_rot != E)
    keys.refuse("rope.dimension_count", c.rope.n_rot, fmt::format("the {} elements of a head", E));
  return c;
}

constexpr HfTensor kMixtral[] = {{"block_sparse_moe.gate", "ffn_gate_inp"},
                                 {"block_sparse_moe.experts.*.w1", "ffn_gate_exps"},
                                 {"block_sparse_moe.experts.*.w3", "ffn_up_exps"},
                                 {"block_sparse_moe.experts.*.w2", "ffn_down_exps"}};
using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfKey own(std::string_view type, HfKey row) {
  row.type = type;
  return row;
}
constexpr HfKey kKvHeads = {"num_key_value_heads", "attention.head_count_kv", Kind::count,
                            IfAbsent::use_default, "num_attention_heads",     8};
constexpr HfKey kKeys[] = {
    own("mistral", kKvHeads),
    own("mixtral", kKvHeads),
    own("mixtral", {"rms_norm_eps", "attention.layer_norm_rms_epsilon", Kind::number,
                    IfAbsent::use_default, "", 1e-5}),
    own("mixtral",
        {"num_local_experts", "expert_count", Kind::count, IfAbsent::use_default, "", 8}),
    own("mixtral",
        {"num_experts_per_tok", "expert_used_count", Kind::count, IfAbsent::use_default, "", 2}),
    {"num_local_experts", "expert_count", Kind::count, IfAbsent::omit},
    {"num_experts_per_tok", "expert_used_count", Kind::count, IfAbsent::omit}};
constexpr HfAbsent kAbsent[] = {{.type = "mistral", .window = 4096, .window_has_flag = false},
                                {.type = "mixtral", .rope_base = 1e6, .window_has_flag = false}};
constexpr std::string_view kIgnored[] = {"is_llama_config", "max_sequence_length"};

}  // namespace

extern const Architecture kLlama;
constinit const Architecture kLlama =
    decoder<llama, read>("llama", {.types = {"llama", "mistral", "mixtral"},
                                   .tensors = kMixtral,
                                   .keys = kKeys,
                                   .paired_rows = true,
                                   .ignored = kIgnored,
                                   .absent = kAbsent});

}  // namespace weft::arch
