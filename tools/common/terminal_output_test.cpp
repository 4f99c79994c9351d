#include "common/terminal_output.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace weft::cli {
namespace {

// All output for the pieces, and what the end adds.
std::string shown(const std::vector<std::string_view>& pieces) {
  TerminalText text;
  std::string out;
  for (const std::string_view piece : pieces) out += text.next(piece);
  return out + text.end();
}

TEST_CASE("a sequence in pieces is shown like one in a piece") {
  const std::string_view whole =
      "a\x1b]0;title\a\xC2\x9b"
      "31m\x9b\xE2\x80\xAE"
      "b\r\nc\rd\xF0\x9F\x98\x80\xE2\x82";
  const std::string expected =
      "a\\x1b]0;title\\x07\\u009b31m\\x9b\\u202eb\r\nc\\rd\xF0\x9F\x98\x80\\xe2\\x82";
  CHECK(shown({whole}) == expected);
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < whole.size(); ++i) bytes.push_back(whole.substr(i, 1));
  CHECK(shown(bytes) == expected);
  for (std::size_t i = 0; i <= whole.size(); ++i)
    CHECK(shown({whole.substr(0, i), whole.substr(i)}) == expected);
}

TEST_CASE("what is complete is not held back") {
  TerminalText text;
  CHECK(text.next("word\xC2") == "word");
  CHECK(text.next("x") == "\\xc2x");
  CHECK(text.next("\xE2\x82").empty());
  CHECK(text.next("\xAC") == "\xE2\x82\xAC");
  CHECK(text.next("end\r") == "end");
  CHECK(text.next("\n") == "\r\n");
  CHECK(text.end().empty());
}

TEST_CASE("every control byte is shown, in front of any other") {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool control = byte < 0x20 ? c != '\n' && c != '\t' : byte >= 0x7f;
    const std::string out = shown({std::string(1, c) + "x"});
    CHECK((out.size() > 2) == control);
    CHECK(out.find(c) == (control ? std::string::npos : 0));
  }
}

}  // namespace
}  // namespace weft::cli
