#pragma once
// JSON bodies of requests, read strictly, and JSON texts of answers.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "weft/base/ledger.h"

namespace weft::api {

// Members keep the order of the text: schemas and tools are shown to models in the order in which
// they were written.
using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 190;  // templates and parsers of tools also accept that depth
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 21;

// One value in UTF-8. Throws ApiError 400, with line and column, for everything that RFC 8259 does
// not allow: trailing text, comments, NaN, control characters in strings, invalid UTF-8, numbers
// beyond double; and for unpaired surrogates, duplicate names, values nested too deep and too many
// values. U+0000 in a string becomes U+FFFD, because it ends texts elsewhere.
Json parse_json(std::string_view text);
// The same for a request's body, which must be an object. Its memory is counted in `memory` while
// it is parsed, and LedgerError thrown if the ledger refuses more; null: it is not counted.
Json parse_body(std::string_view text, Taken* memory = nullptr);

// The value as compact text in valid UTF-8.
std::string to_text(const Json& json);
// The members of two objects, which are JSON texts; empty texts have none. If both have a name, the
// value of the second one counts.
std::string merge_objects(std::string_view first, std::string_view second);

}  // namespace weft::api
