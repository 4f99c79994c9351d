#include "chat/paste.h"

#include <clocale>

#include <doctest/doctest.h>

namespace weft::chat {

TEST_CASE("pasted text keeps its lines and tabs") {
  CHECK(pasted_text("def f():\n\treturn 1\n\n") == "def f():\n\treturn 1\n\n");
  CHECK(pasted_text("one\rtwo\r\nthree\n\rfour") == "one\ntwo\nthree\n\nfour");
  CHECK(pasted_text("\xEF\xBB\xBFgr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(pasted_text("").empty());
}

TEST_CASE("pasted text has no control characters and no marks") {
  CHECK(pasted_text("a\x1b[201~b\x1b[200~c") == "abc");
  CHECK(pasted_text("\x1b[20\x1b[201~1~x") == "[201~x");  // what remains is not a mark
  CHECK(pasted_text("a\x03\x04\x1a\x7f\x1b[31mb") == "a[31mb");
  CHECK(pasted_text(std::string_view("a\0b", 3)) == "ab");
  CHECK(pasted_text("a\xC2\x9B\xC2\x9D"
                    "b") == "ab");
  CHECK(pasted_text("a\xFF\xC3") == "a");
}

TEST_CASE("rows of a text on a screen") {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  CHECK(row_after(L"", 2, 10) == 0);
  CHECK(row_after(L"1234567", 2, 10) == 0);
  CHECK(row_after(L"12345678", 2, 10) == 1);
  CHECK(row_after(L"\n\n", 2, 10) == 2);
  CHECK(row_after(L"\t1", 2, 10) == 0);
  CHECK(row_after(L"\t12", 2, 10) == 1);
  CHECK(row_after(L"1234567中", 2, 10) == 1);
}

}  // namespace weft::chat
