#pragma once
#include <string_view>

#include "automaton.h"

namespace weft::grammar {

// The texts that match an ECMAScript pattern (with the flag u, but as lenient as without it):
// anywhere in the text, or, with `whole`, from its first to its last character. Throws FormatError
// with the column, UnsupportedError for constructs that are not regular (back references, word
// boundaries, look-behind).
Dfa compile_regex(std::string_view pattern, bool whole);

}  // namespace weft::grammar
