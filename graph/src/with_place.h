#pragma once
// Adds the node to errors that an op's functions throw: "linear 'blk.3.attn_q': w must be [N, 4],
// got [4, 5] (models/arch/src/pages/llama.cpp:41)".

#include <source_location>
#include <string_view>

#include "weft/base/error.h"
#include "weft/graph/op_def.h"

namespace weft::graph {

template <class F>
auto with_place(const OpDef& op, std::string_view path, SourceLine where, F f) {
  const auto reword = [&](std::string_view message) {
    return fmt::format("{} '{}': {} ({})", op.name, path, message, to_string(where));
  };
  return reword_errors<ShapeError, DTypeError, ValueError>(reword, f);
}

}  // namespace weft::graph
