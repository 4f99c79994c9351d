#include "weft/ops/all_ops.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("the list of ops is sorted by name and has no name twice") {
  const auto before = [](const OpDef* a, const OpDef* b) { return a->name < b->name; };
  CHECK(std::is_sorted(all_ops().begin(), all_ops().end(), before));
  const auto same = [](const OpDef* a, const OpDef* b) { return a->name == b->name; };
  CHECK(std::adjacent_find(all_ops().begin(), all_ops().end(), same) == all_ops().end());
}

TEST_CASE("every op infers, and is defined unless it is a view") {
  for (const OpDef* op : all_ops()) {
    CAPTURE(op->name);
    const bool infers = op->infer, defined = op->reference;
    CHECK(infers);
    CHECK_FALSE(op->inputs.empty());
    CHECK(defined == (op->storage != Storage::view));
    CHECK(op->in_place_over < static_cast<int>(op->inputs.size()));
    CHECK(find_op(op->name) == op);
  }
  CHECK(find_op("no such op") == nullptr);
}

}  // namespace
}  // namespace weft
