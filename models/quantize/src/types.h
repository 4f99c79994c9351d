#pragma once
// Types of tensors by name, and which of them stands in for another.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/dtype.h"

namespace weft::quantize {

// A type that files can hold, in any case; invalid where unknown. Whether anything here encodes it
// is another question.
DType find_type(std::string_view name);
std::string known_types();  // "F32, F16, Q4_0, ..."

// `type`, or what stands in for it where rows of n_cols are no whole blocks of it: a type of about
// the same size with blocks of 32, or F16 where that does not fit either. Invalid where there is
// none.
DType fitting_type(DType type, std::int64_t n_cols);

// Types that are of no use without importances (source: see mixes.cpp).
bool wants_importances(DType type);

}  // namespace weft::quantize
