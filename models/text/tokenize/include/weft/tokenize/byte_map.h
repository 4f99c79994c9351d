#pragma once
// How byte-level BPE writes bytes as text: printable bytes are their Latin-1 characters, the others
// become U+0100, U+0101, ... in order. Source:
// https://github.com/openai/gpt-2, encoder.py.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::tokenize {

// The character for a byte, as UTF-8.
std::string_view byte_as_text(std::uint8_t byte);

// Decodes a text in this notation; nullopt if a character is not part of it.
std::optional<std::string> text_as_bytes(std::string_view text);

}  // namespace weft::tokenize
