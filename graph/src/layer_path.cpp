#include "weft/graph/layer_path.h"

#include <charconv>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::string_view kPrefix = "blk.";
constexpr std::int64_t kMaxLayers = 1 << 16;

}  // namespace

LayerPath parse_layer_path(std::string_view path) {
  const LayerPath none{kNoLayer, path};
  if (!path.starts_with(kPrefix)) return none;
  const char* end = path.data() + path.size();
  LayerPath parsed;
  const auto [stop, error] = std::from_chars(path.data() + kPrefix.size(), end, parsed.layer);
  const bool good = error == std::errc{} && stop != end && *stop == '.' && parsed.layer >= 0;
  if (!good || parsed.layer >= kMaxLayers) return none;
  parsed.rest = path.substr(static_cast<std::size_t>(stop + 1 - path.data()));
  return parsed;
}

LayerPath parse_part_path(std::string_view path) {
  const LayerPath plain = parse_layer_path(path);
  const std::size_t dot = path.find('.');
  if (plain.layer != kNoLayer || dot == path.npos) return plain;
  LayerPath parsed = parse_layer_path(path.substr(dot + 1));
  if (parsed.layer == kNoLayer) return plain;
  parsed.part = path.substr(0, dot + 1);
  return parsed;
}

std::string layer_path(std::int64_t layer, std::string_view rest) {
  return fmt::format("{}{}.{}", kPrefix, layer, rest);
}

}  // namespace weft
