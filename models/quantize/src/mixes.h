#pragma once
// The mixes: which class of tensor gets which type in a file of that name.

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::quantize {

// clang-format off
enum class Mix : std::uint8_t {
  copy, f32, f16, bf16,
  q4_0, q4_1, q5_0, q5_1, q8_0, q1_0, q2_0,
  q2_k, q2_k_s, q3_k_s, q3_k_m, q3_k_l, q4_k_s, q4_k_m, q5_k_s, q5_k_m, q6_k,
  iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq2_m, iq3_xxs, iq3_xs, iq3_s, iq3_m, iq4_nl, iq4_xs,
  tq1_0, tq2_0, mxfp4_moe, nvfp4, nf4,
};
// clang-format on

struct MixInfo {
  Mix mix;
  std::string_view name;
  std::uint32_t file_type;  // number in general.file_type
  std::string_view type;    // the type of most tensors
};

std::span<const MixInfo> all_mixes();
const MixInfo* find_mix(std::string_view name);  // in any case, also an alias; null if unknown

// Aliases of mixes.
struct MixAlias {
  std::string_view name, mix;
};
std::span<const MixAlias> mix_aliases();

enum class TensorClass : std::uint8_t {
  output,  // and the token embedding if that is also the output matrix
  token_embd,
  attn_q,
  attn_k,
  attn_v,  // and projections that hold V among others
  attn_output,
  ffn_gate,
  ffn_up,
  ffn_down,
  other,
};

// The properties of a tensor that rules use.
struct TensorCase {
  TensorClass of = TensorClass::other;
  std::int64_t rank = 0;    // how many of its class come before it, by layer
  std::int64_t layer = 0;   // its layer's number
  std::int64_t layers = 1;  // layers of the model; for attn_v, tensors of that class
  bool stacked = false;     // the matrices of several experts in one tensor
};
struct ModelCase {
  std::int64_t sharing = 1;   // heads that share a key head
  std::int64_t experts = 0;   // per layer
  bool of_80_layers = false;  // with shared key heads: the 70B models
  bool has_imatrix = false;
};

// Type of a tensor, by name.
std::string_view mix_type(const MixInfo& mix, const ModelCase& model, const TensorCase& tensor);

}  // namespace weft::quantize
