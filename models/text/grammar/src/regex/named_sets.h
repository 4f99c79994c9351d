#pragma once
// The sets of characters for which regular expressions have names.

#include <string>

#include "code_points.h"

namespace weft::grammar {

CodePoints digits();
CodePoints word();
CodePoints spaces();     // WhiteSpace and LineTerminator of ECMA-262
CodePoints line_ends();  // LineTerminator

// \p{NAME} with NAME = Lu, Letter, gc=L, ...: general categories, Any and ASCII. Empty if there is
// no such name.
CodePoints category(std::string name);

}  // namespace weft::grammar
