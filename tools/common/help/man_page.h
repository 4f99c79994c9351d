#pragma once
#include <span>
#include <string>

#include "common/help/app_text.h"

namespace weft::cli {

// With this first argument, a program calls give_man_page() with the arguments after it.
inline constexpr const char* kManFlag = "--man";

// "weft-plan": the name of the page of "weft plan".
std::string man_page_name(const AppText& app);

// The page of section 1 for a program, in roff with the macros of man(7). Its date is that of
// SOURCE_DATE_EPOCH (seconds since 1970; without it none), so that a program always gives the same
// page. Throws ValueError if that is not a number. Subcommands without groups have pages of their
// own.
std::string man_page(const AppText& app);

// Prints the page to stdout, or writes it into the folder that is the only one of `arguments`.
// Throws IoError, and ValueError for more arguments.
void give_man_page(const AppText& app, std::span<const std::string> arguments);

}  // namespace weft::cli
