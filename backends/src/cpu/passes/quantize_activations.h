#pragma once

#include "weft/graph/pass.h"

namespace weft::cpu {

// linear, linear_concat, gated_linear and expert_linear whose weights all have integer rows, and
// attention over keys in blocks of codes, biased or not, read their activation through one
// `quantize` node, "<path of x>.q8a".
extern const Pass kQuantizeActivations;

}  // namespace weft::cpu
