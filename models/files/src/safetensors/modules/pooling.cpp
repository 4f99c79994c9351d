#include "safetensors/modules/pooling.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pooling.h"
#include "weft/files/weft_keys.h"

#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

struct PoolingMode {
  std::string_view name, old_key;
  Pooling pooling;
};
// In the order in which sentence-transformers concatenates the poolings of the old keys.
constexpr PoolingMode kPoolingModes[] = {
    {"cls", "pooling_mode_cls_token", Pooling::cls},
    {"max", "pooling_mode_max_tokens", Pooling::max},
    {"mean", "pooling_mode_mean_tokens", Pooling::mean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_len},
    {"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::weighted_mean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::last}};

Pooling find_mode(const JsonObject& json, const Json& name) {
  if (!name.is_string()) json.mismatch("pooling_mode", "a name or a list of names");
  const auto& text = name.get_ref<const std::string&>();
  const auto* found = std::ranges::find(kPoolingModes, text, &PoolingMode::name);
  if (found != std::end(kPoolingModes)) return found->pooling;
  std::string known;
  for (const PoolingMode& mode : kPoolingModes)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", mode.name);
  fail<UnsupportedError>("{}: unknown 'pooling_mode' '{}' (known: {})", printable_path(json.file()),
                         printable(text), known);
}

// The old keys are ignored beside the new one, and mean the mean if none of them is true.
std::vector<Pooling> modes_of(const JsonObject& json) {
  std::vector<Pooling> modes;
  if (const Json* mode = json.find("pooling_mode")) {
    if (!mode->is_array()) return {find_mode(json, *mode)};
    for (const Json& one : *mode) modes.push_back(find_mode(json, one));
    if (modes.empty() || modes.size() > std::size(kPoolingModes))
      json.mismatch("pooling_mode", "a name or a list of at most 6 names");
    return modes;
  }
  for (const PoolingMode& mode : kPoolingModes) {
    if (json.find_bool(mode.old_key).value_or(false)) modes.push_back(mode.pooling);
  }
  if (modes.empty()) modes.push_back(Pooling::mean);
  return modes;
}

}  // namespace

void add_pooling(const Poolings& poolings, std::string_view arch, MetadataSink& sink) {
  const Pooling first = poolings.modes().front();
  if (poolings.modes().size() == 1 && first <= Pooling::rank)
    sink.add_u32(fmt::format("{}.pooling_type", arch), static_cast<std::uint32_t>(first));
  else
    sink.add_string(kPoolingKey, to_string(poolings));
}

bool read_pooling(const std::string& file, std::string_view arch, MetadataSink& sink) {
  const OptionalFile config(file);
  if (!config.found()) return false;
  add_pooling(Poolings(modes_of(config.object())), arch, sink);
  return true;
}

}  // namespace weft::safetensors
