#include "chat/word_wrap.h"

#include <algorithm>
#include <clocale>

#include <doctest/doctest.h>

namespace weft::chat {
namespace {

// The text as the terminal gets it, given in pieces of some size; all sizes give the same.
std::string wrapped(std::string_view text, std::size_t columns) {
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8"));
  WordWrap whole;
  std::string expected = whole.next(text, columns);
  expected += whole.end(columns);
  for (std::size_t size = 1; size < text.size(); ++size) {
    WordWrap wrap;
    std::string got;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
      end = std::min(at + size, text.size());
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      got += wrap.next(text.substr(at, end - at), columns);
    }
    CHECK(got + wrap.end(columns) == expected);
  }
  return expected;
}

TEST_CASE("words that do not fit go to the next line") {
  CHECK(wrapped("", 10) == "");
  CHECK(wrapped("one two", 10) == "one two");
  CHECK(wrapped("one two three", 10) == "one two\nthree");
  CHECK(wrapped("one two th", 10) == "one two th");
  CHECK(wrapped("one two three\n", 10) == "one two\nthree\n");
  CHECK(wrapped("one two th\nree", 10) == "one two th\nree");
  CHECK(wrapped("one  two   three", 8) == "one  two\nthree");
}

TEST_CASE("line ends, indentation and spaces at the end stay") {
  CHECK(wrapped("a\n\n  b \n", 10) == "a\n\n  b \n");
  CHECK(wrapped("  ", 10) == "  ");
  CHECK(wrapped("a\tb", 8) == "a\nb");
  CHECK(wrapped("a\tb", 9) == "a\tb");
}

TEST_CASE("a word longer than a line is left to the terminal") {
  CHECK(wrapped("see https://example.org now", 10) == "see\nhttps://example.org\nnow");
  CHECK(wrapped("abcdefghijkl mn", 10) == "abcdefghijkl mn");
}

TEST_CASE("wide characters take two columns and can be parted anywhere") {
  CHECK(wrapped("日本語を話す", 6) == "日本語\nを話す");
  CHECK(wrapped("日本語を話す", 7) == "日本語\nを話す");
  CHECK(wrapped("ab日本", 5) == "ab日\n本");
  CHECK(wrapped("日本ab cd", 6) == "日本ab\ncd");
  CHECK(wrapped("日本abc", 6) == "日本\nabc");
  CHECK(wrapped("日本語。", 6) == "日本\n語。");
  CHECK(wrapped("e\u0301e\u0301 e\u0301", 4) == "e\u0301e\u0301 e\u0301");
  CHECK(wrapped("naïve café", 9) == "naïve\ncafé");
}

TEST_CASE("code between fences is not broken") {
  CHECK(wrapped("a b c\n```cpp\nint x = y + z;\n```\na b c", 5) ==
        "a b c\n```cpp\nint x = y + z;\n```\na b c");
  CHECK(wrapped("~~~ a b c d\n```\n x y z u\n~~~\nab cd", 4) ==
        "~~~ a b c d\n```\n x y z u\n~~~\nab\ncd");
  CHECK(wrapped("- x\n  ```\n  a b c d\n  ```\na b c", 4) ==
        "- x\n  ```\n  a b c d\n  ```\na b\nc");
  CHECK(wrapped("````\n```\na b c d\n````\na b c", 4) == "````\n```\na b c d\n````\na b\nc");
  CHECK(wrapped("```x``` is code", 8) == "```x```\nis code");
  CHECK(wrapped("```\nunfinished code", 6) == "```\nunfinished code");
}

TEST_CASE("a word longer than a line is printed as it comes") {
  WordWrap wrap;
  CHECK(wrap.next("ab cde", 6) == "ab");
  CHECK(wrap.next("fghi", 6) == "\ncdefghi");
  CHECK(wrap.next("j", 6) == "j");
  CHECK(wrap.next("k l mnopq ", 6) == "k l\nmnopq");
}

TEST_CASE("the next text begins in the first column") {
  WordWrap wrap;
  CHECK(wrap.next("```\nabc", 4) == "```\nabc");
  CHECK(wrap.end(4) == "");
  CHECK(wrap.next("ab cd", 4) == "ab");
  CHECK(wrap.end(4) == "\ncd");
}

}  // namespace
}  // namespace weft::chat
