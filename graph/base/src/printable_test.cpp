#include "weft/base/printable.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("what a terminal would act upon is escaped") {
  CHECK(printable("caf\xC3\xA9 \xE2\x82\xAC 100%") == "caf\xC3\xA9 \xE2\x82\xAC 100%");
  CHECK(printable("a\nb\rc\td\\e") == "a\\nb\\rc\\td\\\\e");
  CHECK(printable("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xC2\x9b") == "\\u009b");  // the control sequence introducer as one character
  for (const auto& [text, expected] :
       {std::pair("\xE2\x80\xAE", "\\u202e"), std::pair("\xE2\x80\xA8", "\\u2028"),
        std::pair("\xE2\x80\x8F", "\\u200f"), std::pair("\xE2\x81\xA6", "\\u2066"),
        std::pair("\xEF\xBB\xBF", "\\ufeff")})
    CHECK(printable(text) == expected);
  CHECK(printable("a\xFFz\xC3") == "a\\xffz\\xc3");  // not UTF-8
}

TEST_CASE("long text is cut between characters, paths are not") {
  const std::string text(200, 'x');
  CHECK(printable(text) == std::string(120, 'x') + "...");
  CHECK(printable(text, 200) == text);
  CHECK(printable("ab\xE2\x82\xAC", 4) == "ab...");
  CHECK(printable("", 0).empty());
  CHECK(printable_path(text + "\n") == text + "\\n");
}

TEST_CASE("a terminal gets the layout of a text, but no controls") {
  CHECK(terminal_safe("caf\xC3\xA9\t100%\\\r\nb\n") == "caf\xC3\xA9\t100%\\\r\nb\n");
  CHECK(terminal_safe("a\rb\r") == "a\\rb\\r");
  CHECK(terminal_safe("\x1b]0;title\a\x7f\b") == "\\x1b]0;title\\x07\\x7f\\x08");
  CHECK(terminal_safe("\xC2\x9b\x9b\xE2\x80\xAE") == "\\u009b\\x9b\\u202e");
  CHECK(terminal_safe(std::string(5000, '\x0e')).size() == 20000);
}

}  // namespace
}  // namespace weft
