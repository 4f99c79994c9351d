#pragma once

#include "weft/sample/sampler_stage.h"

namespace weft::stages {

// Removes tokens with odd ids, unless there are no others.
struct EvenIds {};
StagePtr make(const EvenIds& p);

}  // namespace weft::stages
