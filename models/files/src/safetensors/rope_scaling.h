#pragma once
// rope_theta and rope_scaling of config.json.

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/files/metadata.h"

#include "safetensors/json.h"

namespace weft::safetensors {

// Adds the keys "ARCH.rope.*". Returns the divisors of the angles, one per pair of a head, if the
// kind of scaling needs them ("llama3"); otherwise an empty vector. Throws UnsupportedError for
// kinds other than linear, yarn and llama3, FormatError for missing or impossible numbers.
std::vector<float> read_rope(const JsonObject& json, std::string_view arch,
                             std::uint64_t head_width, MetadataSink& writer);

}  // namespace weft::safetensors
