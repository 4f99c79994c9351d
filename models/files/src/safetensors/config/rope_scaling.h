#pragma once
// rope_theta and rope_scaling of config.json.

#include <cstdint>
#include <vector>

#include "weft/files/checkpoint.h"

#include "safetensors/config/config_keys.h"
#include "safetensors/names.h"

namespace weft::safetensors {

// Adds "ARCH.rope.freq_base" and "ARCH.rope.freq_base_swa" if the settings of rope have the bases,
// which then count more than other keys. Throws FormatError for impossible numbers.
void add_stated_bases(ConfigKeys& keys);

// Adds the other keys "ARCH.rope.*". Returns the divisors of the angles, one per pair of a head, if
// the kind of scaling needs them ("llama3", "longrope"). Throws UnsupportedError for kinds other
// than these, linear and yarn, and for unknown settings unless they are allowed, FormatError for
// missing or impossible numbers.
std::vector<NamedFloats> read_rope(const arch::HuggingFace& tables, std::uint64_t head_width,
                                   const OpenOptions& options, ConfigKeys& keys);

}  // namespace weft::safetensors
