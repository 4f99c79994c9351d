#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/grammar/regex.h"

namespace weft {
namespace {

TEST_CASE("a pattern is found anywhere in a text unless it is anchored") {
  CHECK(Regex("ffn_down").found_in("blk.3.ffn_down.weight"));
  CHECK(Regex("blk\\.[0-3]\\.").found_in("blk.3.ffn_down.weight"));
  CHECK_FALSE(Regex("blk\\.[0-3]\\.").found_in("blk.13.ffn_down.weight"));
  CHECK(Regex("^blk|^output").found_in("output.weight"));
  CHECK_FALSE(Regex("^ffn").found_in("blk.3.ffn_down.weight"));
  CHECK(Regex("weight$").found_in("blk.3.ffn_down.weight"));
  CHECK_FALSE(Regex("down$").found_in("blk.3.ffn_down.weight"));
  CHECK(Regex("").found_in(""));
  CHECK(Regex("^.$").found_in("\xC3\xA4"));
  CHECK(
      Regex("a.b").found_in("a\xFF"
                            "b"));
}

TEST_CASE("hostile texts and patterns take linear time") {
  // Backtracking needs 2^64 steps here, recursion one frame per character.
  CHECK_FALSE(Regex("(a+)+$").found_in(std::string(1 << 16, 'a') + "b"));
  CHECK(Regex("(a|b)*c").found_in(std::string(1 << 20, 'a') + "c"));
  CHECK_THROWS_AS(Regex("(a|b)*a(a|b){40}"), BudgetError);
}

TEST_CASE("malformed and irregular patterns are rejected") {
  CHECK_THROWS_AS(Regex("("), FormatError);
  CHECK_THROWS_AS(Regex("(a)\\1"), UnsupportedError);
}

}  // namespace
}  // namespace weft
