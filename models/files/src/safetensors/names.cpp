#include "safetensors/names.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/checkpoint.h"

namespace weft::safetensors {
namespace {

constexpr std::uint32_t kAfterAllLayers = 10001;
constexpr std::uint32_t kMaxInLayer = 128;  // tensors of a layer

constexpr std::string_view kOtherParts[] = {
    "vision_tower.", "vision_model.",          "vision_embed_tokens.", "visual.",
    "audio_tower.",  "multi_modal_projector.", "embed_vision.",        "mm_projector."};

// The names of old checkpoints for weight and bias.
struct HfTensorKind {
  std::string_view hf_name, gguf_name;
};
constexpr HfTensorKind kKinds[] = {
    {".weight", ".weight"}, {".bias", ".bias"}, {".gamma", ".weight"}, {".beta", ".bias"}};

// Whether a name in a table is that of a single tensor, not of a weight and its bias.
bool names_kind(std::string_view gguf_name) {
  return gguf_name.ends_with(".weight") || gguf_name.ends_with(".bias");
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (prefix.empty() || !text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view without_prefixes(const arch::HuggingFace& tables, std::string_view name) {
  while (std::ranges::any_of(tables.prefixes,
                             [&](std::string_view prefix) { return take_prefix(name, prefix); })) {
  }
  return name;
}

// Takes a number of at most four digits from the front of the text; -1 if there is none.
std::int64_t take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const auto n = static_cast<std::size_t>(end - text.begin());
  if (n == 0 || n > 4 || (n > 1 && text.front() == '0')) return -1;
  std::int64_t number = 0;
  for (const char digit : text.substr(0, n)) number = number * 10 + (digit - '0');
  text.remove_prefix(n);
  return number;
}

struct Match {
  const arch::HfTensor* tensor = nullptr;
  std::uint32_t order = 0;  // in its tables
  std::int64_t layer = -1, expert = -1;
};

bool matches(std::string_view pattern, std::string_view name, Match& match) {
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    const char c = pattern.front();
    if (c == '#' || c == '*') {
      const std::int64_t number = take_number(name);
      if (number < 0) return false;
      (c == '#' ? match.layer : match.expert) = number;
    } else if (!take_prefix(name, pattern.substr(0, 1))) {
      return false;
    }
  }
  return name.empty();
}

std::vector<Match> find_in(std::span<const arch::HfTensor> table, std::string_view name,
                           std::uint32_t first) {
  std::vector<Match> found;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    Match match{.tensor = &table[i], .order = first + i};
    if (matches(table[i].hf_name, name, match)) found.push_back(match);
  }
  return found;
}

// The architecture's own names come first, because they may differ from the usual ones.
std::vector<Match> find_in(std::span<const arch::HfTensor> own,
                           std::span<const arch::HfTensor> usual, std::string_view name) {
  std::vector<Match> found = find_in(own, name, static_cast<std::uint32_t>(usual.size()));
  return found.empty() ? find_in(usual, name, 0) : found;
}

std::vector<Match> find_matches(const arch::HuggingFace& tables, std::string_view name) {
  std::string_view in_layer = name;
  if (!take_prefix(in_layer, tables.layers))
    return find_in(tables.model_tensors, arch::usual_hf_model_tensors(), name);
  const std::int64_t layer = take_number(in_layer);
  if (layer < 0 || !take_prefix(in_layer, ".")) return {};
  std::vector<Match> found = find_in(tables.tensors, arch::usual_hf_tensors(), in_layer);
  for (Match& match : found) match.layer = layer;
  return found;
}

TensorRole role_of(const Match& match, const arch::HuggingFace& tables, std::string_view kind) {
  const arch::HfTensor& tensor = *match.tensor;
  TensorRole role{.stored = tensor.stored, .layer = match.layer, .expert = match.expert};
  if (tensor.gguf_name.empty()) return role;
  const bool in_table_of_layers = tensor.hf_name.find('#') == std::string_view::npos;
  if (match.layer >= 0 && in_table_of_layers) role.name = fmt::format("blk.{}.", match.layer);
  for (const char c : tensor.gguf_name)
    role.name += c == '#' ? fmt::format("{}", match.layer) : std::string(1, c);
  role.name += kind;
  const std::string_view first = tables.model_tensors.empty()
                                     ? arch::usual_hf_model_tensors().front().gguf_name
                                     : tables.model_tensors.front().gguf_name;
  const bool before = tensor.gguf_name == first;
  const std::uint32_t layer = match.layer >= 0 ? static_cast<std::uint32_t>(match.layer) + 1
                              : before         ? 0
                                               : kAfterAllLayers;
  role.order = layer * kMaxInLayer + match.order;
  return role;
}

bool has_flag(const JsonObject& config, std::string_view flag) {
  const Json* value = flag.empty() ? nullptr : config.find(flag);
  return value && value->is_boolean() && value->get<bool>();
}

}  // namespace

const arch::Architecture& find_hf_model(std::string_view type, const JsonObject& config) {
  const std::vector<const arch::Architecture*> all = arch::architectures();
  const arch::Architecture* found = nullptr;
  for (const arch::Architecture* architecture : all | std::views::reverse) {
    const arch::HuggingFace& tables = architecture->hugging_face;
    if (!tables.has_type(type)) continue;
    if (has_flag(config, tables.flag)) return *architecture;
    if (!found && tables.flag.empty()) found = architecture;
  }
  if (found) return *found;
  std::string known;
  for (const arch::Architecture* architecture : all) {
    if (!architecture->hugging_face.flag.empty()) continue;
    for (const std::string_view other : architecture->hugging_face.types) {
      if (!other.empty()) known += (known.empty() ? "" : ", ") + std::string(other);
    }
  }
  fail<UnsupportedError>("{}: model_type '{}' is not supported (supported: {})",
                         printable_path(config.file()), printable(type), known);
}

std::vector<TensorRole> find_roles(const arch::HuggingFace& tables, std::string_view hf_name) {
  // Angles of rope, which old checkpoints contain.
  if (hf_name.ends_with("rotary_emb.inv_freq")) return {TensorRole{}};
  std::string_view base = without_prefixes(tables, hf_name);
  std::vector<TensorRole> roles;
  const auto* const kind = std::ranges::find_if(
      kKinds, [&](const HfTensorKind& k) { return base.ends_with(k.hf_name); });
  if (kind != std::end(kKinds)) base.remove_suffix(kind->hf_name.size());
  const bool has_kind = kind != std::end(kKinds);
  for (const Match& match : find_matches(tables, base)) {
    const std::string_view name = match.tensor->gguf_name;
    if (!name.empty() && has_kind == names_kind(name)) continue;
    roles.push_back(role_of(match, tables, has_kind ? kind->gguf_name : ""));
  }
  return roles;
}

bool is_of_other_part(const arch::HuggingFace& tables, std::string_view hf_name) {
  const std::string_view base = without_prefixes(tables, hf_name);
  return std::ranges::any_of(kOtherParts,
                             [&](std::string_view part) { return base.starts_with(part); });
}

}  // namespace weft::safetensors
