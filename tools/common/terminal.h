#pragma once
#include <cstddef>

namespace weft::cli {

// The width of the terminal that a descriptor refers to; 80 if it does not say.
std::size_t terminal_columns(int descriptor);

// Sets LC_CTYPE to the user's locale, by which libedit and wcwidth() measure characters. If that is
// not one of UTF-8 or the like, C.UTF-8 takes its place.
void set_terminal_locale();

}  // namespace weft::cli
