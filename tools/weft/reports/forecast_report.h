#pragma once
// What `weft plan --forecast` prints.

#include <string>

#include "weft/measure/forecast.h"

namespace weft::tools {

std::string to_text(const bench::Forecast& forecast);

}  // namespace weft::tools
