#include "weft/base/error.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

template <class E>
int throw_it() {
  fail<E>("w must be {}", 4);
}

TEST_CASE("reworded errors keep their type, and others pass as they are") {
  const auto reword = [](std::string_view message) { return fmt::format("F: {}", message); };
  const auto run = [&](auto f) { return reword_errors<ShapeError, ValueError>(reword, f); };
  CHECK(run([] { return 7; }) == 7);
  CHECK_THROWS_WITH_AS(run(throw_it<ShapeError>), "F: w must be 4", ShapeError);
  CHECK_THROWS_WITH_AS(run(throw_it<ValueError>), "F: w must be 4", ValueError);
  CHECK_THROWS_WITH_AS(run(throw_it<DTypeError>), "w must be 4", DTypeError);
}

}  // namespace
}  // namespace weft
