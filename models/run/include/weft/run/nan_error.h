#pragma once
// What a step of a session throws where its logits are not numbers.

#include "weft/base/error.h"

namespace weft {

class NanError : public Error {
  using Error::Error;
};  // weights, file or a kernel are wrong: anything else that a step throws is about how it was
    // asked

}  // namespace weft
