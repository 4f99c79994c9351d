#include "weft/base/text.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("trim removes ASCII whitespace at the ends only") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim_right(" \t a b\r\n") == " \t a b");
  CHECK(trim(" \n") == "");
  CHECK(trim("") == "");
  CHECK(trim("\xC2\xA0x") == "\xC2\xA0x");  // a no-break space is not ASCII
}

TEST_CASE("case is ignored for ASCII letters only") {
  CHECK(to_lower("Q4_K_[Z]") == "q4_k_[z]");
  CHECK(to_upper("q4_k_{z}") == "Q4_K_{Z}");
  CHECK(equals_ignoring_case("Q4_K", "q4_k"));
  CHECK_FALSE(equals_ignoring_case("Q4_K", "Q4_KS"));
  CHECK_FALSE(equals_ignoring_case("@", "`"));
  CHECK_FALSE(equals_ignoring_case("\xC3\x84", "\xC3\xA4"));
}

TEST_CASE("edit_distance counts insertions, deletions and replacements") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("qwen3", "qwen2") == 1);
  CHECK(near_distance("") == 1);
  CHECK(near_distance("qwen3moe") == 2);
  CHECK(prefix_distances("ab", "abcd") == std::vector<std::size_t>{2, 1, 0, 1, 2});
}

TEST_CASE("line ends of editors that write CR LF") {
  CHECK(without_line_end("") == "");
  CHECK(without_line_end("a\n") == "a");
  CHECK(without_line_end("a\r\n") == "a");
  CHECK(without_line_end("a\r") == "a");
  CHECK(without_line_end("a\n\n") == "a\n");
  CHECK(without_line_end("a\n\r\n") == "a\n");
  CHECK(with_line_feeds("a\r\nb\rc\n\r\r\n\r") == "a\nb\rc\n\r\n\r");
  CHECK(with_line_feeds("") == "");
}

TEST_CASE("a line of source code at the end of a message can be left out") {
  CHECK(without_source_line("w is missing (models/arch/src/pages/llama.cpp:41)") == "w is missing");
  CHECK(without_source_line("w is missing (a.h:1)") == "w is missing");
  for (const char* other :
       {"", "w (a.cpp)", "w (a.cpp:)", "w (a.cpp:4x)", "w (1:41)", "(a.cpp:41)", "w (a.cpp:41) b"})
    CHECK(without_source_line(other) == other);
}

TEST_CASE("the number of an error in JSON is left out") {
  CHECK(without_json_id("[json.exception.parse_error.101] parse error") == "parse error");
  CHECK(without_json_id("line 1") == "line 1");
  CHECK(without_json_id("[json.] ") == "");
  CHECK(without_json_id("[json.") == "[json.");
}

}  // namespace
}  // namespace weft
