#pragma once
// Paths that belong to a layer of the model: "blk.3.attn_q" is "attn_q" of layer 3.

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::int64_t kNoLayer = -1;

struct LayerPath {
  std::int64_t layer = kNoLayer;
  std::string_view rest;  // the whole path if it belongs to no layer
  std::string_view part = {};
};

// Layer numbers are below 65536; a path with a larger number belongs to no layer.
LayerPath parse_layer_path(std::string_view path);
// Likewise for models of several parts: "enc.blk.3.attn_q" is "attn_q" of layer 3 of part "enc.".
LayerPath parse_part_path(std::string_view path);

// "blk.3.attn_q"
std::string layer_path(std::int64_t layer, std::string_view rest);

}  // namespace weft
