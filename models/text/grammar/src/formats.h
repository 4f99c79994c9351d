#pragma once
#include <optional>
#include <string_view>

#include "automaton.h"

namespace weft::grammar {

enum class FormatKind { known, unsupported, unknown };

// The texts that have a format of JSON Schema: those that every reader of its specification takes
// for valid, no others. `unsupported` are formats that are defined and cannot be honoured;
// `unknown` ones are notes to people.
FormatKind find_format(std::string_view name, std::optional<Dfa>& dfa);

}  // namespace weft::grammar
