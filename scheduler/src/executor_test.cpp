#include "weft/scheduler/executor.h"

#include <cmath>

#include <doctest/doctest.h>

#include "weft/graph/error.h"

#include "support/region_backend.h"
#include "support/session.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const RegionBackend kRegions;

// Logits of a prefill in two chunks and two decode steps.
std::vector<float> conversation(const Backend& backend, const ToyDims& dims, int lanes) {
  Memory memory;
  Workers workers(lanes);
  ToyDims narrow = dims;
  narrow.T = 1;
  const Graph wide_graph = toy_llama(dims), narrow_graph = toy_llama(narrow);
  TestSession wide(wide_graph, backend, {.name = "wide", .lanes = lanes}, memory, workers);
  TestSession decode(narrow_graph, backend, {.name = "decode", .lanes = lanes}, memory, workers);
  check(wide.plan, wide_graph);
  check(decode.plan, narrow_graph);
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  };
  keep(step(wide, {1, 2, 3, 4, 5}, 0));
  keep(step(wide, {6, 7, 8}, 5));
  keep(step(decode, {9}, 8));
  keep(step(decode, {10}, 9));
  return all;
}

TEST_CASE("results do not depend on the number of lanes") {
  const ToyDims shapes[] = {
      {.T = 5},
      {.T = 5, .D = 48, .H = 3, .G = 1, .E = 16},
      {.T = 5, .H = 7, .G = 7, .E = 8, .F = 40},
      {.T = 5, .D = 32, .H = 9, .G = 3, .E = 2, .F = 31, .V = 11, .bias = true}};
  for (const ToyDims& dims : shapes) {
    CAPTURE(dims.H);
    const std::vector<float> plain = conversation(reference_backend(), dims, 1);
    for (const float x : plain) REQUIRE(std::isfinite(x));
    for (const int lanes : {1, 2, 3, 7}) {
      CAPTURE(lanes);
      CHECK(conversation(kRegions, dims, lanes) == plain);
      CHECK(conversation(reference_backend(), dims, lanes) == plain);
    }
  }
}

}  // namespace
}  // namespace weft
