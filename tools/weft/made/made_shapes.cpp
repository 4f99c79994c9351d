// The shapes that --make-model knows by name. Sizes and keys are those of the models' published
// configurations; models that are large have fewer layers.

#include <algorithm>

#include "made/made_model.h"

namespace weft::tools {
namespace {

// With the long context of Llama 3.
arch::MadeSizes llama_sizes(std::int64_t L, std::int64_t D, std::int64_t H, std::int64_t G,
                            std::int64_t F, std::int64_t V) {
  return {.L = L, .D = D, .H = H, .G = G, .F = F, .V = V, .context = 131072, .rope_base = 500000};
}

MadeShape stories_15m() {
  return {.name = "15m",
          .note = "stories15M",
          .sizes = llama_sizes(6, 288, 6, 6, 768, 32000),
          .tied = true};
}

MadeShape tiny_llama() {
  return {.name = "1.1b", .note = "TinyLlama", .sizes = llama_sizes(22, 2048, 32, 4, 5632, 32000)};
}

MadeShape mistral_7b() {
  return {.name = "7b", .note = "Mistral", .sizes = llama_sizes(32, 4096, 32, 8, 14336, 32000)};
}

MadeShape llama_8b() {
  return {.name = "8b", .note = "Llama 3", .sizes = llama_sizes(32, 4096, 32, 8, 14336, 128256)};
}

// No model has it.
MadeShape shape_9b() {
  return {.name = "9b",
          .sizes = {.L = 42,
                    .D = 3584,
                    .H = 32,
                    .G = 8,
                    .E = 128,
                    .F = 14336,
                    .V = 128256,
                    .context = 131072,
                    .rope_base = 500000}};
}

// The same with a draft layer, which models of these sizes do not have.
MadeShape with_draft_layer(MadeShape shape) {
  shape.name += "-mtp";
  shape.note = "with a draft layer";
  shape.sizes.draft_layers = 1;
  return shape;
}

MadeShape gemma3_1b() {
  return {.name = "gemma3-1b",
          .architecture = "gemma3",
          .sizes = {.L = 26,
                    .D = 1152,
                    .H = 4,
                    .G = 1,
                    .E = 256,
                    .F = 6912,
                    .V = 262144,
                    .context = 32768,
                    .rope_base = 1e6},
          .tied = true,
          .keys = {{"attention.sliding_window", std::int64_t{512}}}};
}

MadeShape gemma3_4b() {
  return {.name = "gemma3-4b",
          .architecture = "gemma3",
          .sizes = {.L = 34,
                    .D = 2560,
                    .H = 8,
                    .G = 4,
                    .E = 256,
                    .F = 10240,
                    .V = 262208,
                    .context = 131072,
                    .rope_base = 1e6},
          .tied = true,
          .keys = {{"attention.sliding_window", std::int64_t{1024}},
                   {"rope.scaling.type", std::string("linear")},
                   {"rope.scaling.factor", 8.0}}};
}

MadeShape qwen3_0_6b() {
  return {.name = "qwen3-0.6b",
          .architecture = "qwen3",
          .sizes = {.L = 28,
                    .D = 1024,
                    .H = 16,
                    .G = 8,
                    .E = 128,
                    .F = 3072,
                    .V = 151936,
                    .context = 40960,
                    .rope_base = 1e6},
          .tied = true};
}

MadeShape phi3_mini() {
  return {.name = "phi3-mini",
          .architecture = "phi3",
          .sizes = {.L = 32,
                    .D = 3072,
                    .H = 32,
                    .G = 32,
                    .E = 96,
                    .F = 8192,
                    .V = 32064,
                    .context = 4096,
                    .rope_base = 10000}};
}

MadeShape qwen3_30b_a3b() {
  return {.name = "qwen3-30b-a3b",
          .note = "12 of 48 layers",
          .architecture = "qwen3moe",
          .sizes = {.L = 12,
                    .D = 2048,
                    .H = 32,
                    .G = 4,
                    .E = 128,
                    .F = 6144,
                    .V = 151936,
                    .X = 128,
                    .K = 8,
                    .expert_F = 768,
                    .context = 40960,
                    .rope_base = 1e6}};
}

MadeShape gpt_oss_20b() {
  return {.name = "gpt-oss-20b",
          .note = "8 of 24 layers",
          .architecture = "gpt-oss",
          .sizes = {.L = 8,
                    .D = 2880,
                    .H = 64,
                    .G = 8,
                    .E = 64,
                    .F = 2880,
                    .V = 201088,
                    .X = 32,
                    .K = 4,
                    .expert_F = 2880,
                    .context = 131072,
                    .rope_base = 150000},
          .keys = {{"attention.sliding_window", std::int64_t{128}},
                   {"rope.scaling.type", std::string("yarn")},
                   {"rope.scaling.factor", 32.0},
                   {"rope.scaling.original_context_length", std::int64_t{4096}}},
          .optional = {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias",
                       "ffn_gate_inp.bias", "exps.bias", "attn_sinks.weight"}};
}

MadeShape mixtral() {
  return {.name = "mixtral",
          .note = "2 of 32 layers",
          .sizes = {.L = 2,
                    .D = 4096,
                    .H = 32,
                    .G = 8,
                    .E = 128,
                    .F = 14336,
                    .V = 32000,
                    .X = 8,
                    .K = 2,
                    .expert_F = 0,
                    .context = 32768,
                    .rope_base = 1e6}};
}

MadeShape deepseek2_lite() {
  return {.name = "deepseek2-lite",
          .architecture = "deepseek2",
          .sizes = {.L = 27,
                    .D = 2048,
                    .H = 16,
                    .G = 1,
                    .E = 576,
                    .Ev = 512,
                    .R = 64,
                    .F = 10944,
                    .V = 102400,
                    .X = 64,
                    .K = 6,
                    .expert_F = 1408,
                    .context = 32768,
                    .rope_base = 10000},
          .keys = {{"attention.kv_lora_rank", std::int64_t{512}},
                   {"attention.key_length_mla", std::int64_t{192}},
                   {"attention.value_length_mla", std::int64_t{128}},
                   {"leading_dense_block_count", std::int64_t{1}},
                   {"expert_shared_count", std::int64_t{2}}}};
}

MadeShape gpt2() {
  return {.name = "gpt2",
          .architecture = "gpt2",
          .sizes = {.L = 12,
                    .D = 768,
                    .H = 12,
                    .G = 12,
                    .F = 3072,
                    .V = 50257,
                    .context = 1024,
                    .rope_base = 500000},
          .tied = true,
          .optional = {".bias"}};
}

MadeShape bert_base() {
  return {.name = "bert-base",
          .architecture = "bert",
          .sizes = {.L = 12,
                    .D = 768,
                    .H = 12,
                    .G = 12,
                    .F = 3072,
                    .V = 30522,
                    .context = 512,
                    .rope_base = 500000},
          .tied = true,
          .keys = {{"attention.causal", false}, {"pooling_type", std::int64_t{1}}},
          .optional = {".bias", "token_types.weight"}};
}

MadeShape nomic_embed() {
  return {.name = "nomic-embed",
          .architecture = "nomic-bert",
          .sizes = {.L = 12,
                    .D = 768,
                    .H = 12,
                    .G = 12,
                    .F = 3072,
                    .V = 30522,
                    .context = 2048,
                    .rope_base = 1000},
          .tied = true,
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
