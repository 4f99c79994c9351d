#pragma once
// Finds the importances that a plan needs and an importance matrix lacks.

#include <string>
#include <vector>

#include "weft/quantize/quantize.h"

namespace weft::quantize {

// The file of the matrix, for messages.
std::string name_of(const Imatrix& imatrix);

// A line about tensors without an entry, and one about experts without rows; only for types that
// weight errors and for tensors that expects_importances().
std::vector<std::string> missing_importances(const QuantizePlan& plan, const Imatrix& imatrix);

}  // namespace weft::quantize
