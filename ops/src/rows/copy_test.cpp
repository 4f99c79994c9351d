#include "weft/ops/rows/copy.h"

#include "weft/ops/formats/q8_0.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

constexpr CopyAttrs kUp{.from = MemoryId::host, .to = device_memory(0)};

TEST_CASE("copy: the same bytes without gaps, of any type") {
  for (const DType type : {f32, f16, q8_0}) {
    Graph g;
    const Tensor x = g.input("x", {type, {3, 64}});
    g.output("y", g.add(kCopy, {{x}}, kUp, std::source_location::current()));
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(3 * 64, 1)).run();
    CHECK(eval.bytes("y") == eval.bytes("x"));
    CHECK(kCopy.col_granule(kUp, {{{type, {3, 64}}}}, {type, {3, 64}}) == type.block_elems());
    for (const float bound : eval.bounds("y")) CHECK(bound == 0);
  }
}

TEST_CASE("copy: refusals") {
  CHECK(refusal(kCopy, kUp, {{i32, {2}}}) == "accepted");
  CHECK(refusal(kCopy, CopyAttrs{}, {{f32, {2}}}) ==
        "ValueError: from and to must be different memories, got host twice");
  CHECK(refusal(kCopy, CopyAttrs{device_memory(1), device_memory(1)}, {{f32, {2}}}) ==
        "ValueError: from and to must be different memories, got device 1 twice");
}

}  // namespace
}  // namespace weft
