#pragma once
#include <functional>
#include <string>

#include "weft/run/session.h"

namespace weft::server {

// Draws the memory plan of a model as SVG.
using DrawPlan = std::function<std::string(const Model& model, const SessionOptions& options)>;

}  // namespace weft::server
