#pragma once
// Tensor types by name, and their substitutes.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/dtype.h"

namespace weft::quantize {

// A type that files can hold, in any case; invalid if unknown. There may be no encoder for it.
DType find_type(std::string_view name);
std::string known_types();  // "F32, F16, Q4_0, ..."

// `type`, or its substitute if rows of n_cols are not whole blocks of it: a type of about the same
// size with blocks of 32, or F16 if that does not fit either. Invalid if there is none.
DType fitting_type(DType type, std::int64_t n_cols);

// Types that need importances (source: see mixes.cpp).
bool needs_importances(DType type);

}  // namespace weft::quantize
