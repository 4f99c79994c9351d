#include "weft/base/text_file.h"

#include <fstream>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"

using namespace weft;

TEST_CASE("text files lose a byte order mark, and nothing else") {
  const test::TempFolder folder;
  const std::string path = folder / "text";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return read_text_file(path);
  };
  CHECK(read("\xEF\xBB\xBFone\r\n") == "one\r\n");
  CHECK(read("one\xEF\xBB\xBF") == "one\xEF\xBB\xBF");
  CHECK(read("\xEF\xBB\xBF\xEF\xBB\xBF") == "\xEF\xBB\xBF");
  CHECK(read("\xEF\xBB") == "\xEF\xBB");
  CHECK(read("").empty());
  CHECK_THROWS_AS(read_text_file(path + "x"), IoError);
  CHECK_THROWS_AS(read_text_file(folder.path().string()), IoError);
  std::ofstream(path) << "abc";
  CHECK_THROWS_AS(read_text_file(path, 2), FormatError);
}
