#include "weft/ops/ranks/collectives.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

// A matrix of floats.
struct Rows {
  std::int64_t rows, cols;
  Floats values;
  View view() {
    return {.data = reinterpret_cast<std::byte*>(values.data()),
            .dtype = f32,
            .n_dims = 2,
            .dims = {rows, cols},
            .row_stride = cols * 4};
  }
};

Floats compute(const OpDef& op, const Attrs& attrs, std::vector<Rows> ranks, std::int64_t rows,
               std::int64_t cols) {
  std::vector<View> in;
  for (Rows& x : ranks) in.push_back(x.view());
  Rows y{rows, cols, Floats(static_cast<std::size_t>(rows * cols))};
  op.reference(attrs, in, y.view());
  return y.values;
}

TEST_CASE("collectives are defined over the values of all ranks") {
  const auto group = [](std::int64_t cols) { return GroupAttrs{0, 3, 0, cols}; };
  const std::vector<Rows> ranks{
      {2, 2, {1, 2, 3, 4}}, {2, 2, {10, 20, 30, 40}}, {2, 2, {5, 5, 5, 5}}};
  CHECK(compute(kAllReduce, group(2), ranks, 2, 2) == Floats{16, 27, 38, 49});
  CHECK(compute(kBroadcast, group(2), ranks, 2, 2) == Floats{1, 2, 3, 4});
  const std::vector<Rows> uneven{{2, 1, {1, 2}}, {2, 2, {3, 4, 5, 6}}};
  CHECK(compute(kAllGather, group(3), uneven, 2, 3) == Floats{1, 3, 4, 2, 5, 6});
  CHECK(compute(kRecv, PeerAttrs{1, 0, 2}, {ranks[1]}, 2, 2) == Floats{10, 20, 30, 40});
  CHECK(compute(kSend, PeerAttrs{1, 0, 2}, {ranks[1]}, 1, 1) == Floats{0});
}

TEST_CASE("all_reduce adds in the order of ranks") {
  const std::vector<Rows> ranks{{1, 1, {1}}, {1, 1, {0x1p24F}}, {1, 1, {-0x1p24F}}, {1, 1, {1}}};
  CHECK(compute(kAllReduce, GroupAttrs{0, 4, 0, 1}, ranks, 1, 1) == Floats{1});
}

TEST_CASE("collectives infer shapes") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor x = g.input("x", {f32, {t, 6}}), ids = g.input("ids", {i32, {t}});
  const auto add = [&](const OpDef& op, Tensor from, Attrs attrs, Tensor after = {}) {
    return g.add(op, std::vector{from, after}, std::move(attrs), {}).spec();
  };
  CHECK(add(kAllReduce, x, GroupAttrs{0, 2, 0, 6}) == x.spec());
  CHECK(add(kBroadcast, x, GroupAttrs{0, 2, 0, 6}, ids) == x.spec());
  CHECK(add(kAllGather, x, GroupAttrs{0, 2, 0, 12}) == TensorSpec{f32, {t, 12}});
  CHECK(add(kSend, x, PeerAttrs{1, 0, 6}) == TensorSpec{f32, {1}});
  CHECK(add(kRecv, ids, PeerAttrs{1, 0, 6}) == TensorSpec{f32, {t, 6}});
}

TEST_CASE("collectives: invalid arguments") {
  const TensorSpec x{f32, {2, 8}}, none;
  CHECK(refusal(kAllReduce, GroupAttrs{0, 2, 0, 7}, {x, none}) ==
        "ValueError: cols must be the width of x, 8, got 7");
  CHECK(refusal(kAllReduce, GroupAttrs{0, 0, 0, 8}, {x, none}) ==
        "ValueError: ranks must be at least 1, the first one at least 0; got 0 from 0 on");
  CHECK(refusal(kAllGather, GroupAttrs{0, 2, 0, 7}, {x, none}) ==
        "ValueError: cols must be at least the width of x, 8, got 7");
  CHECK(refusal(kSend, PeerAttrs{0, 0, 8}, {{f32, {2, 2, 4}}, none}) ==
        "ShapeError: x must be [T, D], got [2, 2, 4]");
  CHECK(refusal(kRecv, PeerAttrs{0, 0, 0}, {x, none}) ==
        "ValueError: cols must be at least 1, got 0");
}

}  // namespace
}  // namespace weft
