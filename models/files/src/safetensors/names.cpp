#include "safetensors/names.h"

#include <algorithm>
#include <span>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/checkpoint.h"

namespace weft::safetensors {
namespace {

constexpr std::uint32_t kAfterAllLayers = 10001;
constexpr std::uint32_t kMaxInLayer = 64;  // tensors of a layer

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_layer_number(std::string_view text) {
  return !text.empty() && text.size() <= 4 && (text.size() == 1 || text.front() != '0') &&
         std::ranges::all_of(text, is_digit);
}

}  // namespace

const Architecture& find_hf_model(std::string_view type, const std::string& file) {
  std::string known;
  for (const Architecture* architecture : architectures()) {
    if (architecture->hugging_face.has_type(type)) return *architecture;
    for (const std::string_view other : architecture->hugging_face.types) {
      if (!other.empty()) known += (known.empty() ? "" : ", ") + std::string(other);
    }
  }
  fail<UnsupportedError>("{}: model_type '{}' is not supported (supported: {})",
                         printable_path(file), printable(type), known);
}

namespace {

struct Found {
  const HfTensor* tensor = nullptr;
  std::uint32_t order = 0;  // in a layer
};
Found find_in(std::span<const HfTensor> table, std::string_view hf_name, std::uint32_t first) {
  const auto at = std::ranges::find(table, hf_name, &HfTensor::hf_name);
  if (at == table.end()) return {};
  return {&*at, first + static_cast<std::uint32_t>(at - table.begin())};
}

// The architecture's own names come first, because they may differ from the usual ones.
Found find_in_layer(const HuggingFace& tables, std::string_view hf_name) {
  const auto n_usual = static_cast<std::uint32_t>(usual_hf_tensors().size());
  const Found own = find_in(tables.tensors, hf_name, n_usual);
  return own.tensor ? own : find_in(usual_hf_tensors(), hf_name, 0);
}

}  // namespace

TensorRole find_role(const HuggingFace& tables, std::string_view hf_name) {
  // Angles of rope, which old checkpoints contain.
  if (hf_name.ends_with("rotary_emb.inv_freq")) return {.name = {}, .known = true};
  const std::size_t dot = hf_name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view kind = hf_name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return {};
  std::string_view base = hf_name.substr(0, dot);
  take_prefix(base, "model.");  // checkpoints without an output matrix lack this prefix
  std::string prefix;
  std::uint32_t layer = 0;  // 1 for the first one
  Found found;
  if (take_prefix(base, "layers.")) {
    const std::size_t end = std::min(base.find('.'), base.size());
    const std::string_view number = base.substr(0, end);
    if (!is_layer_number(number)) return {};
    prefix = "blk." + std::string(number) + ".";
    for (const char digit : number) layer = layer * 10 + static_cast<std::uint32_t>(digit - '0');
    ++layer;
    found = find_in_layer(tables, base.substr(std::min(end + 1, base.size())));
  } else {
    found = find_in(usual_hf_model_tensors(), base, 0);
    if (found.order > 0) layer = kAfterAllLayers;
  }
  if (!found.tensor) return {};
  return {.name = prefix + std::string(found.tensor->gguf_name) + std::string(kind),
          .rows = found.tensor->rows,
          .order = layer * kMaxInLayer + found.order,
          .known = true};
}

}  // namespace weft::safetensors
