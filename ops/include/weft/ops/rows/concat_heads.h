#pragma once
// y[t, h, :] = a[t, h, :] followed by b[t, h, :], or by b[t, 0, :] if b has one head.
//   a [T, H, A] f32     b [T, H, B] or [T, 1, B] f32     y [T, H, A + B] f32

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kConcatHeads;
Tensor concat_heads(Tensor a, Tensor b, SourceLine where = std::source_location::current());

}  // namespace weft
