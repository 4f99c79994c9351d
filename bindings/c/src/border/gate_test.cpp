#include "border/gate.h"

#include <optional>

#include <doctest/doctest.h>

#include "border/call.h"

namespace weft::c_api {
namespace {

TEST_CASE("work for an object waits for the call that is inside") {
  Gate gate("session");
  int n_done = 0;
  const auto work = [&] { ++n_done; };
  gate.run_inside(work);
  CHECK(n_done == 1);
  std::optional<Inside> call(gate);
  gate.run_inside(work);
  gate.run_inside(work);
  CHECK(n_done == 1);
  CHECK_THROWS_AS(Inside{gate}, StatusError);
  CHECK(n_done == 1);
  call.reset();
  CHECK(n_done == 3);
  call.emplace(gate);
  call.reset();
  CHECK(n_done == 3);
}

}  // namespace
}  // namespace weft::c_api
