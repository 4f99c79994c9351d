#pragma once
// The error of a session's step whose logits are NaN.

#include "weft/base/error.h"

namespace weft {

// Means that the file, its weights or a kernel are wrong. All other errors of a step are about its
// arguments.
class NanError : public Error {
  using Error::Error;
};

}  // namespace weft
