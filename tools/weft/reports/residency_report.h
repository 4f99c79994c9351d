#pragma once
// What `weft plan` says about weights that are read from disk while steps run.

#include <string>

#include "weft/run/session.h"

namespace weft::tools {

// Empty if no weights are streamed. Otherwise what is kept, what is read in order, the cache of
// experts, and a line for each kind of tensor.
std::string to_text(const Model& model, const PlannedModel& planned);

}  // namespace weft::tools
