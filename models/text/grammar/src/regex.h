#pragma once
#include <string_view>

#include "automaton.h"

namespace weft::grammar {

// Texts that a pattern of ECMAScript (with the flag u, and forgiving as without it) matches:
// anywhere in the text, or `whole`: from its first to its last character. Throws FormatError with
// the column, UnsupportedError for what no automaton can do (references back, word borders, looking
// behind).
Dfa compile_regex(std::string_view pattern, bool whole);

}  // namespace weft::grammar
