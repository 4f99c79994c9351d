#include "safetensors/pooling.h"

#include <algorithm>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/json.h"

namespace weft::safetensors {
namespace {

constexpr std::size_t kMaxPoolingConfig = std::size_t{1} << 20;

struct PoolingMode {
  std::string_view name, old_key;
  std::uint32_t type;  // number in the key ARCH.pooling_type; 0: it has none
};
// In the order in which sentence-transformers concatenate what the old keys ask for.
constexpr PoolingMode kPoolingModes[] = {
    {"cls", "pooling_mode_cls_token", 2},
    {"max", "pooling_mode_max_tokens", 0},
    {"mean", "pooling_mode_mean_tokens", 1},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", 0},
    {"weightedmean", "pooling_mode_weightedmean_tokens", 0},
    {"lasttoken", "pooling_mode_lasttoken", 3}};

const PoolingMode& find_mode(const JsonObject& json, const Json& name) {
  if (!name.is_string()) json.mismatch("pooling_mode", "a name or a list of names");
  const auto& text = name.get_ref<const std::string&>();
  const auto* found = std::ranges::find(kPoolingModes, text, &PoolingMode::name);
  if (found != std::end(kPoolingModes)) return *found;
  fail<UnsupportedError>(
      "{}: unknown 'pooling_mode' '{}' (known: cls, max, mean, "
      "mean_sqrt_len_tokens, weightedmean, lasttoken)",
      printable_path(json.file()), printable(text));
}

// The old keys are ignored beside the new one, and mean the mean if none of them is true.
std::vector<PoolingMode> modes_of(const JsonObject& json) {
  std::vector<PoolingMode> modes;
  if (const Json* mode = json.find("pooling_mode")) {
    if (!mode->is_array()) return {find_mode(json, *mode)};
    for (const Json& one : *mode) modes.push_back(find_mode(json, one));
    if (modes.empty()) json.mismatch("pooling_mode", "a name or a list of names");
    return modes;
  }
  for (const PoolingMode& mode : kPoolingModes) {
    if (json.find_bool(mode.old_key).value_or(false)) modes.push_back(mode);
  }
  if (modes.empty()) modes.push_back(kPoolingModes[2]);
  return modes;
}

}  // namespace

bool read_pooling(const std::string& file, std::string_view arch, MetadataSink& sink) {
  const auto text = read_text(file, kMaxPoolingConfig);
  if (!text) return false;
  const Json parsed = parse_json(*text, file);
  const std::vector<PoolingMode> modes = modes_of(JsonObject(parsed, file));
  if (modes.size() > 1 || modes.front().type == 0) {
    fail<UnsupportedError>("{}: pooling '{}' is not supported (supported: cls, mean, lasttoken)",
                           printable_path(file), modes.back().name);
  }
  sink.add_u32(fmt::format("{}.pooling_type", arch), modes.front().type);
  return true;
}

}  // namespace weft::safetensors
