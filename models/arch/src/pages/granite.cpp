// Granite 3 and 4 (dense, with experts, and with Mamba 2 in layers without kv heads) and MiniCPM:
// as Llama, with four numbers that scale the embeddings, what each block adds, the scores of
// attention and the logits. Sources: Granite Team, IBM 2024, "Granite 3.0 Language Models"; Hu et
// al. 2024, arXiv:2404.06395.

#include "pages/granite.h"

#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"

namespace weft::arch {
namespace {

Decoder granite(const Granite& c) {
  std::vector<Residual> layer =
      pre_norm_layer(Attention{.q_and_k = {rope_adjacent}, .scale = c.attention_scale}, Moe{});
  for (Residual& r : layer) r.scale = c.residual_scale;
  return {.rope = {.attrs = c.rope, .factors = true},
          .embedding_scale = c.embedding_scale,
          .layer = std::move(layer),
          .logits_scale = c.logits_scale};
}

struct GraniteHybrid : Granite {
  StateSpace ssm;
};

Decoder granite_hybrid(const GraniteHybrid& c) {
  Decoder d = granite(c);
  d.layer_of = [&c, with_attention = d.layer](std::int64_t i) {
    std::vector<Residual> layer = with_attention;
    if (c.layer(i).G == 0) layer.front().block = Mamba2{c.ssm};
    return layer;
  };
  return d;
}

// Scales that files leave out, or have as 0, are `usual`.
Granite read_scales(const Keys& keys, Granite usual) {
  const auto number = [&](std::string_view key, float otherwise) {
    const float value = keys.number_or(key, 0, 1e6, 0);
    return value == 0 ? otherwise : value;
  };
  read_experts(keys, usual, {.width = ExpertWidth::own_or_ffn});
  usual.embedding_scale = number("embedding_scale", usual.embedding_scale);
  usual.residual_scale = number("residual_scale", usual.residual_scale);
  usual.attention_scale = number("attention.scale", usual.attention_scale);
  usual.logits_scale = 1 / number("logit_scale", 1 / usual.logits_scale);
  return usual;
}

float usual_attention_scale(const Hparams& c) {
  return 1 / std::sqrt(static_cast<float>(c.layer(0).E));
}

Granite read(const Keys& keys, const HparamsRules& rules) {
  Granite c{read_hparams(keys, rules)};
  c.attention_scale = usual_attention_scale(c);
  if (!keys.flag_or("rope.scaling.finetuned", true)) c.rope.n_rot = 0;
  return read_scales(keys, c);
}

GraniteHybrid read_hybrid(const Keys& keys) {
  return {read(keys, HparamsRules{.min_H = 0, .min_G = 0}), read_state_space(keys, true)};
}

Granite read_minicpm(const Keys& keys) {
  const Hparams c = read_hparams(keys);
  return read_scales(keys, {c, 12, 1.4f / std::sqrt(static_cast<float>(c.L)),
                            usual_attention_scale(c), 256 / static_cast<float>(c.D)});
}

using Stored = HfTensor::Stored;
using Kind = HfKey::Kind;
constexpr HfTensor kTensors[] = {
    {"block_sparse_moe.router.layer", "ffn_gate_inp"},
    {"block_sparse_moe.input_linear", "ffn_gate_exps", Stored::gate_half},
    {"block_sparse_moe.input_linear", "ffn_up_exps", Stored::up_half},
    {"block_sparse_moe.output_linear", "ffn_down_exps"},
};
constexpr auto kDefault = HfKey::IfAbsent::use_default;
constexpr HfKey kKeys[] = {
    {"embedding_multiplier", "embedding_scale", Kind::number, kDefault, "", 1},
    {"residual_multiplier", "residual_scale", Kind::number, kDefault, "", 1},
    {"attention_multiplier", "attention.scale", Kind::number, kDefault, "", 1},
    {"logits_scaling", "logit_scale", Kind::number, kDefault, "", 1},
    {.hf_name = "num_local_experts",
     .gguf_name = "expert_count",
     .if_absent = kDefault,
     .value = 8,
     .type = "granitemoe"},
    {.hf_name = "num_experts_per_tok",
     .gguf_name = "expert_used_count",
     .if_absent = kDefault,
     .value = 2,
     .type = "granitemoe"},
};
constexpr HfSetting kSettings[] = {{"position_embedding_type", {"\"rope\""}}};

}  // namespace

Granite read_granite(const Keys& keys) {
  return read(keys, HparamsRules{});
}

extern const Architecture kGraniteDense, kGraniteHybrid, kGraniteMoe, kMiniCpm;
constinit const Architecture kGraniteHybrid = decoder<granite_hybrid, read_hybrid>("granitehybrid");
constinit const Architecture kGraniteMoe =
    decoder<granite, read_granite>("granitemoe", {.types = {"granitemoe"},
                                                  .tensors = kTensors,
                                                  .keys = kKeys,
                                                  .paired_rows = true,
                                                  .settings = kSettings});
constinit const Architecture kMiniCpm = decoder<granite, read_minicpm>("minicpm");
constinit const Architecture kGraniteDense = decoder<granite, read_granite>(
    "granite", {.types = {"granite"}, .keys = kKeys, .paired_rows = true, .settings = kSettings});

}  // namespace weft::arch
