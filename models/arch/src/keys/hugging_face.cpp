#include "weft/arch/hugging_face.h"

#include <algorithm>

namespace weft::arch {
namespace {

using Stored = HfTensor::Stored;
using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;

constexpr HfTensor kOutside[] = {
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"lm_head", "output"},
    {"score", "cls.output"},  // a classifier's
};

constexpr HfTensor kInLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q", Stored::query_heads},
    {"self_attn.k_proj", "attn_k", Stored::key_heads},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.experts.*.gate_proj", "ffn_gate_exps"},
    {"mlp.experts.*.up_proj", "ffn_up_exps"},
    {"mlp.experts.*.down_proj", "ffn_down_exps"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp", Stored::as_matrix},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};

constexpr HfKey kKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", Kind::count, IfAbsent::same_as,
     "num_attention_heads"},
    {"head_dim", "attention.key_length", Kind::count, IfAbsent::omit},
    {"head_dim", "attention.value_length", Kind::count, IfAbsent::omit},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", Kind::number, IfAbsent::use_default, "",
     1e-6},
    {"is_causal", "attention.causal", Kind::flag, IfAbsent::omit},
};

}  // namespace

bool HuggingFace::has_type(std::string_view type) const {
  return !type.empty() && std::ranges::find(types, type) != types.end();
}

HfAbsent HuggingFace::absent_keys(std::string_view type) const {
  const auto found = std::ranges::find(absent, type, &HfAbsent::type);
  if (found != absent.end()) return *found;
  return {.type = type, .tied = tied, .rope_base = usual_rope_base};
}

std::span<const HfTensor> usual_hf_tensors() {
  return kInLayer;
}
std::span<const HfTensor> usual_hf_model_tensors() {
  return kOutside;
}
std::span<const HfKey> usual_hf_keys() {
  return kKeys;
}

}  // namespace weft::arch
