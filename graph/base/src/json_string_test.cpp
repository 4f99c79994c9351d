#include "weft/base/json_string.h"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("what JSON requires is escaped, and nothing else") {
  CHECK(json_string("") == "\"\"");
  CHECK(json_string("plain / text") == "\"plain / text\"");
  CHECK(json_string("a\"b\\c") == R"("a\"b\\c")");
  CHECK(json_string("\b\f\n\r\t") == R"("\b\f\n\r\t")");
  CHECK(json_string(std::string_view("\0\x01\x1F\x7F", 4)) == "\"\\u0000\\u0001\\u001f\x7F\"");
  CHECK(json_string("é\u2028\U0001F98A<&>'") == "\"é\u2028\U0001F98A<&>'\"");
  std::string out = "x:";
  append_json_string(out, "\n\n");
  CHECK(out == R"(x:"\n\n")");
}

TEST_CASE("one replacement character for each incomplete one") {
  CHECK(json_string("a\xF0\x9F\x98") == "\"a\uFFFD\"");
  CHECK(json_string("\xE2\x82z\xFF") == "\"\uFFFDz\uFFFD\"");
  CHECK(json_string("\xED\xA0\x80\"") == "\"\uFFFD\uFFFD\uFFFD\\\"\"");  // a surrogate
  CHECK(json_string("\xC0\xAF\x80é") == "\"\uFFFD\uFFFD\uFFFDé\"");      // overlong
}

TEST_CASE("characters are escaped on request") {
  const auto escape = [](char32_t code) {
    std::string out;
    append_json_escape(out, code);
    return out;
  };
  CHECK(escape('\n') == "\\n");
  CHECK(escape('"') == "\\\"");
  CHECK(escape('<') == "\\u003c");
  CHECK(escape(0xE9) == "\\u00e9");
  CHECK(escape(0xFFFF) == "\\uffff");
  CHECK(escape(0x1F98A) == "\\ud83e\\udd8a");
  CHECK(escape(0x10FFFF) == "\\udbff\\udfff");
}
