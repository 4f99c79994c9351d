#include "tensors.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "weft/graph/layer_path.h"
#include "weft/quantize/quantize.h"

namespace weft {
namespace quantize {
namespace {

// Parts of names of tensors that are never quantized. Source: the tensors that llama-quantize of
// https://github.com/ggml-org/llama.cpp leaves as they are.
constexpr std::string_view kKept[] = {
    "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel",
    "per_layer_model_proj", "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight",
    "indexer.q_proj.weight", "attn_rel_b.weight",
    // The low-rank parts of recurrent mixing.
    "time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
    "time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight",
    "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight",
    "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
    // Images and sound.
    ".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
    ".patch_merger", "a.rvq.codebook", "mm.a.code_embd"};
// Endings of names of tensors that no product reads although they may be quantized: convolutions,
// and positions that are added.
constexpr std::string_view kNotMultiplied[] = {"_conv.weight", "_compressor_ape.weight"};
constexpr std::string_view kKeptNames[] = {"position_embd.weight", "token_types.weight"};

struct ClassName {
  std::string_view part;
  TensorClass of;
};
constexpr ClassName kClasses[] = {
    {"attn_qkv.weight", TensorClass::attn_v}, {"attn_kv_b.weight", TensorClass::attn_v},
    {"attn_v.weight", TensorClass::attn_v},   {"attn_k.weight", TensorClass::attn_k},
    {"attn_q.weight", TensorClass::attn_q},   {"attn_output.weight", TensorClass::attn_output},
    {"ffn_up", TensorClass::ffn_up},          {"ffn_gate", TensorClass::ffn_gate},
    {"ffn_down", TensorClass::ffn_down},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::int64_t kMax = 1 << 30;  // more than any model has of anything counted here

std::int64_t number(const Checkpoint& file, std::string_view key, std::int64_t otherwise) {
  const auto arch = file.find_string("general.architecture");
  if (!arch) return otherwise;
  const MetaValue* value = file.find(fmt::format("{}.{}", *arch, key));
  if (value == nullptr) return otherwise;
  if (const auto* n = std::get_if<std::uint64_t>(&value->value)) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(*n, kMax));
  }
  if (const auto* n = std::get_if<std::int64_t>(&value->value))
    return std::clamp<std::int64_t>(*n, 0, kMax);
  // One number per layer: the first one is used for all.
  const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(&value->value);
  if (array == nullptr || !*array) return otherwise;
  if (const auto* n = std::get_if<std::vector<std::int64_t>>(&(*array)->values); n && !n->empty())
    return std::clamp<std::int64_t>(n->front(), 0, kMax);
  if (const auto* n = std::get_if<std::vector<std::uint64_t>>(&(*array)->values); n && !n->empty())
    return static_cast<std::int64_t>(std::min<std::uint64_t>(n->front(), kMax));
  return otherwise;
}

std::int64_t count_layers(const Checkpoint& file) {
  std::int64_t last = -1;
  for (const CheckpointTensor& tensor : file.tensors())
    last = std::max(last, parse_layer_path(tensor.name).layer);
  return number(file, "block_count", last + 1);
}

}  // namespace

Rows rows_of(const TensorSpec& spec) {
  const Shape& shape = spec.shape;
  Rows rows{.n_cols = shape.last(),
            .n_rows = shape.elems() / std::max<std::int64_t>(shape.last(), 1)};
  for (int i = 0; i + 2 < shape.n_dims(); ++i) rows.n_matrices *= shape[i].bound;
  return rows;
}

bool may_quantize(const CheckpointTensor& tensor) {
  const std::string_view name = tensor.name;
  if (rows_of(tensor.spec).n_rows < 2 || !name.ends_with("weight")) return false;
  if (std::ranges::find(kKeptNames, name) != std::end(kKeptNames)) return false;
  return std::ranges::none_of(kKept, [&](std::string_view part) { return contains(name, part); });
}

bool expects_importances(std::string_view name) {
  return is_multiplied(name) && class_of(name) != TensorClass::output;
}

TensorClass class_of(std::string_view name) {
  if (name == "output.weight") return TensorClass::output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
    return TensorClass::token_embd;
  const auto* found = std::ranges::find_if(
      kClasses, [&](const ClassName& known) { return contains(name, known.part); });
  return found == std::end(kClasses) ? TensorClass::other : found->of;
}

ModelCase model_case(const Checkpoint& file) {
  const std::int64_t heads = number(file, "attention.head_count", 1);
  const std::int64_t key_heads = number(file, "attention.head_count_kv", heads);
  return {.sharing = key_heads > 0 ? heads / key_heads : 0,
          .experts = number(file, "expert_count", 0),
          .of_80_layers = count_layers(file) == 80 && heads != key_heads};
}

std::vector<TensorCase> tensor_cases(const Checkpoint& file) {
  const auto tensors = file.tensors();
  const bool tied = file.find_tensor("output.weight") == nullptr;
  const std::int64_t n_layers = count_layers(file);
  const std::int64_t n_attn_v = std::ranges::count_if(
      tensors, [](const CheckpointTensor& t) { return class_of(t.name) == TensorClass::attn_v; });

  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(parse_layer_path(tensors[i].name).layer, tensors[i].name);
  });
  std::map<TensorClass, std::int64_t> seen;
  std::vector<TensorCase> cases(tensors.size());
  for (const std::size_t i : order) {
    if (!may_quantize(tensors[i])) continue;
    TensorClass of = class_of(tensors[i].name);
    if (tied && of == TensorClass::token_embd) of = TensorClass::output;
    cases[i] = {.of = of,
                .rank = seen[of]++,
                .layer = parse_layer_path(tensors[i].name).layer,
                .layers = of == TensorClass::attn_v ? n_attn_v : n_layers,
                .stacked = rows_of(tensors[i].spec).n_matrices > 1};
  }
  return cases;
}

}  // namespace quantize

bool is_multiplied(std::string_view name) {
  using namespace quantize;
  return class_of(name) != TensorClass::token_embd &&
         std::ranges::none_of(kNotMultiplied,
                              [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace weft
