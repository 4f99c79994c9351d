#include "weft/base/utf8.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("every Unicode scalar value survives encoding and decoding") {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_utf8(code, text);
    const Utf8Char c = decode_utf8(text, 0);
    if (!c.valid || c.code != code || c.length != text.size())
      FAIL("code point " << static_cast<unsigned>(code));
    for (std::size_t n = 1; n < text.size(); ++n) {
      if (unfinished_utf8(text.substr(0, n)) != n)
        FAIL("prefix of code point " << static_cast<unsigned>(code));
    }
    if (unfinished_utf8(text) != 0) FAIL("complete code point " << static_cast<unsigned>(code));
  }
}

TEST_CASE("valid texts and others") {
  for (const char* text : {"", "text", "\xC3\xA9", "a\xF0\x9F\xA6\x8Az"}) CHECK(is_utf8(text));
  for (const char* text : {"\x80", "a\xC3", "\xF0\x9F\xA6z", "\xED\xA0\x80"})
    CHECK_FALSE(is_utf8(text));
}

TEST_CASE("invalid UTF-8 is read byte by byte") {
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xC3"}) {
    CAPTURE(text);
    const Utf8Char c = decode_utf8(text, 0);
    CHECK_FALSE(c.valid);
    CHECK(c.length == 1);
    CHECK(c.code == kReplacementCharacter);
  }
}

TEST_CASE("one replacement stands for the longest beginning of a character") {
  CHECK(invalid_utf8("\xF0\x9F\x98", 0) == 3);
  CHECK(invalid_utf8("\xF0\x9F\x98x", 0) == 3);
  CHECK(invalid_utf8("\xE2\x82\xE2\x82\xAC", 0) == 2);
  CHECK(invalid_utf8("\x80\x80", 0) == 1);
  CHECK(invalid_utf8("\xED\xA0\x80", 0) == 1);      // a surrogate
  CHECK(invalid_utf8("\xF4\x90\x80\x80", 0) == 1);  // past U+10FFFF
  CHECK(invalid_utf8("\xC3", 0) == 1);
}

TEST_CASE("only a valid prefix of a character counts as unfinished") {
  CHECK(unfinished_utf8("") == 0);
  CHECK(unfinished_utf8("abc") == 0);
  CHECK(unfinished_utf8("abc\xE2\x82") == 2);
  CHECK(unfinished_utf8("\xE0\x80") == 0);      // overlong
  CHECK(unfinished_utf8("\xED\xA0") == 0);      // a surrogate
  CHECK(unfinished_utf8("\xF4\x90") == 0);      // past U+10FFFF
  CHECK(unfinished_utf8("\x80\x80\x80") == 0);  // no first byte
  CHECK(unfinished_utf8("\xC3\xA9\xF0\x9F\x98") == 3);
}

}  // namespace
}  // namespace weft
