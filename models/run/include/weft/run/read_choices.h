#pragma once
// How streamed weights are read on this machine: measured by `weft tune -m MODEL`, and stored with
// the other tuned values under the name "reads".

#include <cstdint>
#include <string_view>

#include "weft/base/tuned_values.h"

namespace weft::run {

struct ReadChoices {
  int depth = 8;                      // reads in progress
  std::int64_t block = 1 << 20;       // bytes of a read
  std::int64_t bytes_per_second = 0;  // that were measured with them; 0: nothing was
};

inline constexpr std::string_view kTunedReads = "reads";

// The stored choices; the standard ones if nothing was measured, or with WEFT_TUNE=off.
ReadChoices read_choices();
TunedValues to_values(const ReadChoices& choices, double gain);

}  // namespace weft::run
