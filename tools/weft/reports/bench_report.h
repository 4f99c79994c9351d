#pragma once
// The table that `weft bench` prints.

#include <string>

#include "weft/measure/bench.h"

namespace weft::tools {

std::string to_text(const bench::Report& report);

}  // namespace weft::tools
