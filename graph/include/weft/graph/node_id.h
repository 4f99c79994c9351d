#pragma once
// The number of a node in its graph.

#include <cstdint>

namespace weft {

using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

}  // namespace weft
