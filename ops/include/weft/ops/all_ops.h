#pragma once
// The one list of ops.

#include <span>
#include <string_view>

#include "weft/graph/op_def.h"

namespace weft {

std::span<const OpDef* const> all_ops();
const OpDef* find_op(std::string_view name);  // null if no op has this name

}  // namespace weft
