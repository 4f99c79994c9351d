#pragma once
// Names of the matrices of a LoRA in graphs: "blk.0.attn_q.weight.lora.0.u" belongs to the layer of
// its weight.

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft::adapters {

inline constexpr std::string_view kU = "u", kV = "v", kVTransposed = "v_transposed";

inline std::string matrix_name(std::string_view weight, std::size_t index, std::string_view which) {
  return fmt::format("{}.lora.{}.{}", weight, index, which);
}

}  // namespace weft::adapters
