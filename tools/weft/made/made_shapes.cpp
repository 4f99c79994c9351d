// The shapes that --make-model knows by name. Sizes and keys are those of the models' published
// configurations; models that are large have fewer layers.

#include <algorithm>

#include "made/made_model.h"

namespace weft::tools {
namespace {

MadeShape stories_15m() {
  return {.name = "15m",
          .note = "stories15M",
          .D = 288,
          .F = 768,
          .L = 6,
          .H = 6,
          .G = 6,
          .V = 32000,
          .tied = true};
}

MadeShape tiny_llama() {
  return {.name = "1.1b",
          .note = "TinyLlama",
          .D = 2048,
          .F = 5632,
          .L = 22,
          .H = 32,
          .G = 4,
          .V = 32000};
}

MadeShape mistral_7b() {
  return {
      .name = "7b", .note = "Mistral", .D = 4096, .F = 14336, .L = 32, .H = 32, .G = 8, .V = 32000};
}

MadeShape llama_8b() {
  return {.name = "8b",
          .note = "Llama 3",
          .D = 4096,
          .F = 14336,
          .L = 32,
          .H = 32,
          .G = 8,
          .V = 128256};
}

// No model has it.
MadeShape shape_9b() {
  return {.name = "9b", .D = 3584, .F = 14336, .L = 42, .H = 32, .G = 8, .V = 128256, .E = 128};
}

// The same with a draft layer, which models of these sizes do not have.
MadeShape with_draft_layer(MadeShape shape) {
  shape.name += "-mtp";
  shape.note = "with a draft layer";
  shape.L += 1;
  shape.keys.emplace_back("nextn_predict_layers", std::int64_t{1});
  return shape;
}

MadeShape gemma3_1b() {
  return {.name = "gemma3-1b",
          .architecture = "gemma3",
          .D = 1152,
          .F = 6912,
          .L = 26,
          .H = 4,
          .G = 1,
          .V = 262144,
          .E = 256,
          .tied = true,
          .context = 32768,
          .rope_base = 1e6,
          .keys = {{"attention.sliding_window", std::int64_t{512}}}};
}

MadeShape gemma3_4b() {
  return {.name = "gemma3-4b",
          .architecture = "gemma3",
          .D = 2560,
          .F = 10240,
          .L = 34,
          .H = 8,
          .G = 4,
          .V = 262208,
          .E = 256,
          .tied = true,
          .rope_base = 1e6,
          .keys = {{"attention.sliding_window", std::int64_t{1024}},
                   {"rope.scaling.type", std::string("linear")},
                   {"rope.scaling.factor", 8.0}}};
}

MadeShape qwen3_0_6b() {
  return {.name = "qwen3-0.6b",
          .architecture = "qwen3",
          .D = 1024,
          .F = 3072,
          .L = 28,
          .H = 16,
          .G = 8,
          .V = 151936,
          .E = 128,
          .tied = true,
          .context = 40960,
          .rope_base = 1e6};
}

MadeShape phi3_mini() {
  return {.name = "phi3-mini",
          .architecture = "phi3",
          .D = 3072,
          .F = 8192,
          .L = 32,
          .H = 32,
          .G = 32,
          .V = 32064,
          .E = 96,
          .context = 4096,
          .rope_base = 10000};
}

MadeShape qwen3_30b_a3b() {
  return {.name = "qwen3-30b-a3b",
          .note = "12 of 48 layers",
          .architecture = "qwen3moe",
          .D = 2048,
          .F = 6144,
          .L = 12,
          .H = 32,
          .G = 4,
          .V = 151936,
          .E = 128,
          .context = 40960,
          .rope_base = 1e6,
          .keys = {{"expert_count", std::int64_t{128}},
                   {"expert_used_count", std::int64_t{8}},
                   {"expert_feed_forward_length", std::int64_t{768}}}};
}

MadeShape gpt_oss_20b() {
  return {.name = "gpt-oss-20b",
          .note = "8 of 24 layers",
          .architecture = "gpt-oss",
          .D = 2880,
          .F = 2880,
          .L = 8,
          .H = 64,
          .G = 8,
          .V = 201088,
          .E = 64,
          .rope_base = 150000,
          .keys = {{"expert_count", std::int64_t{32}},
                   {"expert_used_count", std::int64_t{4}},
                   {"expert_feed_forward_length", std::int64_t{2880}},
                   {"attention.sliding_window", std::int64_t{128}},
                   {"rope.scaling.type", std::string("yarn")},
                   {"rope.scaling.factor", 32.0},
                   {"rope.scaling.original_context_length", std::int64_t{4096}}},
          .optional = {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias",
                       "ffn_gate_inp.bias", "exps.bias", "attn_sinks.weight"}};
}

MadeShape mixtral() {
  return {.name = "mixtral",
          .note = "2 of 32 layers",
          .D = 4096,
          .F = 14336,
          .L = 2,
          .H = 32,
          .G = 8,
          .V = 32000,
          .E = 128,
          .context = 32768,
          .rope_base = 1e6,
          .keys = {{"expert_count", std::int64_t{8}}, {"expert_used_count", std::int64_t{2}}}};
}

MadeShape deepseek2_lite() {
  return {.name = "deepseek2-lite",
          .architecture = "deepseek2",
          .D = 2048,
          .F = 10944,
          .L = 27,
          .H = 16,
          .G = 1,
          .V = 102400,
          .E = 576,
          .Ev = 512,
          .R = 64,
          .context = 32768,
          .rope_base = 10000,
          .keys = {{"attention.kv_lora_rank", std::int64_t{512}},
                   {"attention.key_length_mla", std::int64_t{192}},
                   {"attention.value_length_mla", std::int64_t{128}},
                   {"leading_dense_block_count", std::int64_t{1}},
                   {"expert_count", std::int64_t{64}},
                   {"expert_used_count", std::int64_t{6}},
                   {"expert_shared_count", std::int64_t{2}},
                   {"expert_feed_forward_length", std::int64_t{1408}}}};
}

MadeShape gpt2() {
  return {.name = "gpt2",
          .architecture = "gpt2",
          .D = 768,
          .F = 3072,
          .L = 12,
          .H = 12,
          .G = 12,
          .V = 50257,
          .tied = true,
          .context = 1024,
          .layer_norm = true,
          .optional = {".bias"}};
}

MadeShape bert_base() {
  return {.name = "bert-base",
          .architecture = "bert",
          .D = 768,
          .F = 3072,
          .L = 12,
          .H = 12,
          .G = 12,
          .V = 30522,
          .tied = true,
          .context = 512,
          .layer_norm = true,
          .keys = {{"attention.causal", false}, {"pooling_type", std::int64_t{1}}},
          .optional = {".bias", "token_types.weight"}};
}

MadeShape nomic_embed() {
  return {.name = "nomic-embed",
          .architecture = "nomic-bert",
          .D = 768,
          .F = 3072,
          .L = 12,
          .H = 12,
          .G = 12,
          .V = 30522,
          .tied = true,
          .context = 2048,
          .rope_base = 1000,
          .layer_norm = true,
          .keys = {{"attention.causal", false}, {"pooling_type", std::int64_t{1}}},
          .optional = {"norm.bias", "token_types.weight"}};
}

}  // namespace

const std::vector<MadeShape>& named_shapes() {
  static const std::vector<MadeShape> kShapes = [] {
    std::vector<MadeShape> shapes = {
        stories_15m(),    tiny_llama(), mistral_7b(), llama_8b(),      shape_9b(),    gemma3_1b(),
        gemma3_4b(),      qwen3_0_6b(), phi3_mini(),  qwen3_30b_a3b(), gpt_oss_20b(), mixtral(),
        deepseek2_lite(), gpt2(),       bert_base(),  nomic_embed()};
    shapes.push_back(with_draft_layer(tiny_llama()));
    shapes.push_back(with_draft_layer(shape_9b()));
    const std::vector<MadeShape> recurrent = recurrent_shapes();
    shapes.insert(shapes.end(), recurrent.begin(), recurrent.end());
    shapes.push_back(
        with_draft_layer(*std::ranges::find(recurrent, "qwen35-like", &MadeShape::name)));
    return shapes;
  }();
  return kShapes;
}

}  // namespace weft::tools
