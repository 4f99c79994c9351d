#include "session/lora_scales.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::run {

void LoraScales::set(std::int32_t sequence, std::span<const float> scales, bool is_empty) {
  Scales& own = at(sequence);
  own.mixed = !is_empty && (own.mixed || !std::ranges::equal(scales, own.now));
  std::ranges::copy(scales, own.now.begin());
}

void LoraScales::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  at(to).mixed = length > 0 && at(from).mixed;
  std::ranges::copy(at(from).now, at(to).now.begin());
}

std::string LoraScales::why_not_saved(std::int32_t sequence) const {
  if (!at(sequence).mixed) return "";
  return fmt::format(
      "sequence {} cannot be saved: the scales of its LoRAs were changed while it had tokens; "
      "truncate it to 0 and feed them again",
      sequence);
}

}  // namespace weft::run
