#pragma once
// Runs a template's tree. Statements are in renderer.cpp, expressions in evaluate.h.

#include "jinja/ast.h"
#include "jinja/runtime.h"

namespace weft::jinja {

// What the template writes with these variables. Throws ChatTemplateError.
TextBuilder render(const Node& root, Runtime& runtime, const Dict& variables);

}  // namespace weft::jinja
