#pragma once
// Constraints of C as those of C++.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/chat/constraint.h"

namespace weft::c_api {

// `kind`: WEFT_GRAMMAR_... `place` names the argument that has the text. Throws ValueError for
// another kind, FormatError for a choice that is not a JSON array of texts.
Constraint constraint_of(std::int32_t kind, std::string_view text, const std::string& place);

// The constraint of a reply, whose errors name "constraint". Kind::none if the text is NULL, unless
// the kind is WEFT_GRAMMAR_JSON_OBJECT. Throws ValueError for other kinds without a text.
Constraint reply_constraint(std::int32_t kind, const char* text);

}  // namespace weft::c_api
