#pragma once
// Edges that read one character of a set, which may be several bytes.

#include "code_points.h"
#include "compiled_grammar.h"

namespace weft::grammar {

// A character in UTF-8, except surrogates.
void add_character(GrammarBuilder& builder, StateId from, const CodePoints& set, StateId to);
// A character of a JSON string: literally if JSON allows that, and in the usual escaped forms: \n
// and the like, \uXXXX for control characters and all that is not ASCII.
void add_json_character(GrammarBuilder& builder, StateId from, const CodePoints& set, StateId to);

}  // namespace weft::grammar
