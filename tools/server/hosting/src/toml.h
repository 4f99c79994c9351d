#pragma once
// TOML as JSON values, which have tables of fields (api/fields.h).

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/api/json.h"

namespace weft::server {

// Dates and times become texts. Throws FormatError with line and column if the text is not TOML.
api::Json read_toml(std::string_view text);
// The line of the value at a path like "models[1].path", or of the one around it. REQUIRES:
// read_toml() accepts the text.
std::int64_t line_in_toml(std::string_view text, std::string_view path);

}  // namespace weft::server
