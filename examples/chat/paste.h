#pragma once
// Text that a terminal passes on as pasted, between two marks (bracketed paste).
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::chat {

inline constexpr std::string_view kPasteBegin = "\x1b[200~", kPasteEnd = "\x1b[201~";
// Ask the terminal for the marks, and to leave them out.
inline constexpr std::string_view kMarkPastes = "\x1b[?2004h", kMarkNoPastes = "\x1b[?2004l";

// The text of pasted bytes: line ends are "\n", tabs stay. Without marks, a byte order mark at the
// start, other control characters, and bytes that are not UTF-8.
std::string pasted_text(std::string_view bytes);

// The row of the screen, counted from 0, in which a terminal of that width shows the character
// after `text`, which begins in column `first` of row 0. REQUIRES: LC_CTYPE is a locale of UTF-8.
std::size_t row_after(std::wstring_view text, std::size_t first, std::size_t columns);

}  // namespace weft::chat
