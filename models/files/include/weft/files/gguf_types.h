#pragma once
// Element types of GGUF tensors by their numbers: those with a codec (ops/formats).

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/dtype.h"

namespace weft::gguf {

// The type of that number; an invalid one if the number is unknown or was removed.
DType find_type(std::uint32_t id);

// The name of a type that was removed from the format; empty for others.
std::string_view removed_type(std::uint32_t id);

// "F32, F16, ...": the types that is_supported() accepts.
std::string supported_types();

}  // namespace weft::gguf
