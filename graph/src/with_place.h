#pragma once
// Adds the node to errors that an op's functions throw: "linear 'blk.3.attn_q': w must be [N, 4],
// got [4, 5] (models/arch/src/llama.cpp:41)".

#include <source_location>
#include <string_view>

#include "weft/base/error.h"
#include "weft/graph/op_def.h"

namespace weft {

template <class F>
auto with_place(const OpDef& op, std::string_view path, const std::source_location& where, F f) {
  const auto text = [&](const Error& e) {
    return fmt::format("{} '{}': {} ({})", op.name, path, e.what(), to_string(where));
  };
  try {
    return f();
  } catch (const ShapeError& e) {
    throw ShapeError(text(e));
  } catch (const DTypeError& e) {
    throw DTypeError(text(e));
  } catch (const ValueError& e) {
    throw ValueError(text(e));
  }
}

}  // namespace weft
