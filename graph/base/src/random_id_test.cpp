#include "weft/base/random_id.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/base/text.h"

namespace weft {
namespace {

TEST_CASE("random ids have a prefix and are unlike") {
  const std::string id = random_id("call_", 24);
  CHECK(id.size() == 29);
  CHECK(id.starts_with("call_"));
  CHECK(std::all_of(id.begin() + 5, id.end(),
                    [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }));
  CHECK(random_id("call_", 24) != id);
  CHECK(random_id("", 0).empty());
}

}  // namespace
}  // namespace weft
