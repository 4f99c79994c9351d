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
  CHECK(prefix_distances("ab", "abcd") == std::vector<std::size_t>{2, 1, 0, 1, 2});
}

}  // namespace
}  // namespace weft
