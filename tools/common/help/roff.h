#pragma once
#include <string>
#include <string_view>

namespace weft::cli::roff {

// Text in which all characters are shown as they are, as in a command that is copied from a page.
std::string literal(std::string_view text);

// The same in bold or italics.
std::string bold(std::string_view text);
std::string italic(std::string_view text);

// Sentences as lines of at most 79 characters. What is between `` ` `` is bold, and of a link in
// Markdown its text is left, unless it is in parentheses. Flags keep their dashes.
std::string prose(std::string_view text);

// A command divided into lines of at most `width` characters, with a backslash at the end of all
// but the last, at spaces that are not quoted, before a flag if possible.
std::string command_lines(std::string_view command, std::size_t width);

}  // namespace weft::cli::roff
