#pragma once
// Strings as JSON (RFC 8259).

#include <string>
#include <string_view>

namespace weft {

// Appends the text with its quotes. Escapes quotes, backslashes and the characters below U+0020, by
// \b, \f, \n, \r and \t or else \u00XX; all others are written as they are. Bytes that are not
// UTF-8 become U+FFFD, one for each incomplete character, as decoders do it (WHATWG Encoding).
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// Appends one character escaped, whether or not it must be: \n, \u00e9, \ud83d\ude00. REQUIRES:
// `code` is a Unicode scalar value.
void append_json_escape(std::string& out, char32_t code);

}  // namespace weft
