#pragma once
#include <optional>
#include <string_view>

#include "automaton.h"

namespace weft::grammar {

enum class FormatKind { known, unsupported, unknown };

// The texts of a format of JSON Schema: only those that are valid in every reading of its
// specification. `unsupported` formats are defined, but not supported; `unknown` ones are
// annotations.
FormatKind find_format(std::string_view name, std::optional<Dfa>& dfa);

}  // namespace weft::grammar
