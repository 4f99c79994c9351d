#pragma once
// y[t, ..] = x[t, ..] * (1 + scale * ln(floor((pos[t] + offset) / length) + 1)): queries grow with
// their position, so that attention over long contexts stays sharp.
//   x [T, ..] f32     pos [T] i32, at least 0 (the caller checks)     y like x, may run in place
// Source: Nakanishi 2025, arXiv:2501.19399, in the stepwise form of Llama 4.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct TemperatureAttrs {
  float scale = 0;
  std::int32_t length = 1;  // at least 1
  std::int32_t offset = 0;  // at least 0
  static constexpr auto fields() {
    return std::tuple{field("scale", &TemperatureAttrs::scale),
                      field("length", &TemperatureAttrs::length),
                      field("offset", &TemperatureAttrs::offset)};
  }
};

extern const OpDef kAttentionTemperature;  // inputs: x, pos
Tensor attention_temperature(Tensor x, Tensor pos, const TemperatureAttrs& attrs,
                             SourceLine where = std::source_location::current());

}  // namespace weft
