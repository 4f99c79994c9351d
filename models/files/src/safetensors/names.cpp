#include "safetensors/names.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

namespace weft::safetensors {
namespace {

using Rows = TensorRole::Rows;

// Sources: the configuration and modeling files of these types in
// https://github.com/huggingface/transformers/tree/main/src/transformers/models
constexpr HfModel kModels[] = {
    {"llama", "llama", /*rows_in_pairs=*/true},
    {"mistral", "llama", /*rows_in_pairs=*/true},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
};

struct Name {
  std::string_view theirs, ours;
  Rows rows = Rows::as_stored;
};
// Which of these a model has is for its builder to say. In the order of their use; the first one
// outside comes before the layers.
constexpr Name kOutside[] = {
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"lm_head", "output"},
};
constexpr std::uint32_t kAfterAllLayers = 10001;
constexpr Name kInLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q", Rows::query_heads},
    {"self_attn.k_proj", "attn_k", Rows::key_heads},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_layer_number(std::string_view text) {
  return !text.empty() && text.size() <= 4 && (text.size() == 1 || text.front() != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

const HfModel& find_hf_model(std::string_view type, const std::string& file) {
  const auto* found = std::ranges::find(kModels, type, &HfModel::type);
  if (found != std::end(kModels)) return *found;
  std::string known;
  for (const HfModel& model : kModels)
    known += (known.empty() ? "" : ", ") + std::string(model.type);
  fail<UnsupportedError>("{}: model_type '{}' is not supported (supported: {})",
                         printable_path(file), printable(type), known);
}

TensorRole find_role(std::string_view hf_name) {
  // Angles of rope, which old checkpoints carry.
  if (hf_name.ends_with("rotary_emb.inv_freq")) return {.name = {}, .known = true};
  const std::size_t dot = hf_name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view kind = hf_name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return {};
  std::string_view base = hf_name.substr(0, dot);
  take_prefix(base, "model.");  // checkpoints without an output matrix do without it
  std::string prefix;
  std::span<const Name> names = kOutside;
  std::uint32_t layer = 0;  // 1 for the first one
  if (take_prefix(base, "layers.")) {
    const std::size_t end = std::min(base.find('.'), base.size());
    const std::string_view number = base.substr(0, end);
    if (!is_layer_number(number)) return {};
    prefix = "blk." + std::string(number) + ".";
    base.remove_prefix(std::min(end + 1, base.size()));
    names = kInLayer;
    for (const char digit : number) layer = layer * 10 + static_cast<std::uint32_t>(digit - '0');
    ++layer;
  }
  const auto found = std::ranges::find(names, base, &Name::theirs);
  if (found == names.end()) return {};
  if (prefix.empty() && found != names.begin()) layer = kAfterAllLayers;
  return {.name = prefix + std::string(found->ours) + std::string(kind),
          .rows = found->rows,
          .order = layer * 16 + static_cast<std::uint32_t>(found - names.begin()),
          .known = true};
}

}  // namespace weft::safetensors
