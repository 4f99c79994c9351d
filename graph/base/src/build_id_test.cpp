#include "weft/base/build_id.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("a build ID has hexadecimal digits, and is the same at every call") {
  const std::string id = build_id();
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(id.size() % 2 == 0);
  CHECK(id == build_id());
}

}  // namespace
}  // namespace weft
