// Shapes of recurrent and hybrid models for --make-model. Sizes and keys are those of the models'
// published configurations.

#include "made/made_model.h"

namespace weft::tools {
namespace {

using Numbers = std::vector<std::int64_t>;

// The kv heads of L layers: G in those that have attention, 0 in the others.
Numbers kv_heads(std::int64_t L, std::int64_t G, const Numbers& with_attention) {
  Numbers heads(static_cast<std::size_t>(L));
  for (const std::int64_t layer : with_attention) heads[static_cast<std::size_t>(layer)] = G;
  return heads;
}

MadeShape granite4_h_1b() {
  return {.name = "granite4-h-1b",
          .architecture = "granitehybrid",
          .sizes = {.L = 40,
                    .D = 1536,
                    .H = 12,
                    .G = 4,
                    .E = 128,
                    .F = 4096,
                    .V = 100352,
                    .context = 131072,
                    .rope_base = 10000},
          .tied = true,
          .keys = {{"attention.head_count_kv", kv_heads(40, 4, {5, 15, 25, 35})},
                   {"rope.scaling.finetuned", false},
                   {"ssm.conv_kernel", std::int64_t{4}},
                   {"ssm.inner_size", std::int64_t{3072}},
                   {"ssm.state_size", std::int64_t{128}},
                   {"ssm.time_step_rank", std::int64_t{48}},
                   {"ssm.group_count", std::int64_t{1}},
                   {"embedding_scale", 12.0},
                   {"residual_scale", 0.22},
                   {"attention.scale", 0.0078125},
                   {"logit_scale", 6.0}},
          .optional = {"ssm_conv1d.bias"}};
}

MadeShape qwen35_like() {
  return {.name = "qwen35-like",
          .note = "a hybrid as Qwen3.5 2B",
          .architecture = "qwen35",
          .sizes = {.L = 24,
                    .D = 2048,
                    .H = 8,
                    .G = 2,
                    .E = 256,
                    .R = 64,
                    .F = 6144,
                    .V = 248320,
                    .context = 131072,
                    .rope_base = 1e7},
          .tied = true,
          .keys = {{"rope.dimension_sections", Numbers{11, 11, 10, 0}},
                   {"full_attention_interval", std::int64_t{4}},
                   {"ssm.conv_kernel", std::int64_t{4}},
                   {"ssm.inner_size", std::int64_t{2048}},
                   {"ssm.state_size", std::int64_t{128}},
                   {"ssm.time_step_rank", std::int64_t{16}},
                   {"ssm.group_count", std::int64_t{16}}}};
}

MadeShape falcon_h1() {
  return {.name = "falcon-h1",
          .note = "0.5B",
          .architecture = "falcon-h1",
          .sizes = {.L = 36,
                    .D = 1024,
                    .H = 8,
                    .G = 2,
                    .E = 64,
                    .F = 2048,
                    .V = 32784,
                    .context = 16384,
                    .rope_base = 1e11},
          .keys = {{"ssm.conv_kernel", std::int64_t{4}},
                   {"ssm.inner_size", std::int64_t{1536}},
                   {"ssm.state_size", std::int64_t{128}},
                   {"ssm.time_step_rank", std::int64_t{24}},
                   {"ssm.group_count", std::int64_t{1}}},
          .optional = {"ssm_conv1d.bias"}};
}

MadeShape mamba_370m() {
  return {.name = "mamba-370m",
          .architecture = "mamba",
          .sizes = {.L = 48, .D = 1024, .H = 0, .G = 0, .F = 0, .V = 50280, .context = 1048576},
          .tied = true,
          .keys = {{"ssm.conv_kernel", std::int64_t{4}},
                   {"ssm.inner_size", std::int64_t{2048}},
                   {"ssm.state_size", std::int64_t{16}},
                   {"ssm.time_step_rank", std::int64_t{64}}},
          .optional = {"ssm_conv1d.bias"}};
}

MadeShape rwkv7_0_4b() {
  return {.name = "rwkv7-0.4b",
          .architecture = "rwkv7",
          .sizes = {.L = 24, .D = 1024, .H = 0, .G = 0, .F = 4096, .V = 65536, .context = 4096},
          .keys = {{"wkv.head_size", std::int64_t{64}},
                   {"attention.decay_lora_rank", std::int64_t{64}},
                   {"attention.iclr_lora_rank", std::int64_t{64}},
                   {"attention.value_residual_mix_lora_rank", std::int64_t{32}},
                   {"attention.gate_lora_rank", std::int64_t{128}}},
          .optional = {"norm.bias", "norm_2.bias"}};
}

MadeShape lfm2_1_2b() {
  return {.name = "lfm2-1.2b",
          .architecture = "lfm2",
          .sizes = {.L = 16,
                    .D = 2048,
                    .H = 32,
                    .G = 8,
                    .E = 64,
                    .F = 8192,
                    .V = 65536,
                    .context = 128000,
                    .rope_base = 1e6},
          .tied = true,
          .keys = {{"attention.head_count_kv", kv_heads(16, 8, {2, 5, 8, 10, 12, 14})},
                   {"shortconv.l_cache", std::int64_t{3}}}};
}

}  // namespace

std::vector<MadeShape> recurrent_shapes() {
  return {granite4_h_1b(), qwen35_like(), falcon_h1(), mamba_370m(), rwkv7_0_4b(), lfm2_1_2b()};
}

}  // namespace weft::tools
