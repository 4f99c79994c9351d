#include "weft/ops/rows/get_rows.h"

#include "weft/ops/formats/q8_0.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("get_rows: picks rows, ids outside give NaN") {
  Graph g;
  const Dim t = g.variable("T", 8);
  const Tensor table = g.weight("table", {f32, {3, 2}});
  g.output("y", get_rows(table, g.input("ids", {i32, {t}})));
  CHECK(to_string(g[2].spec) == "F32 [?<=8, 2]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 5).floats("table", {0, 1, 10, 11, 20, 21}).ints("ids", {2, 0, 2, -1, 3}).run();
  const Floats y = eval.floats("y");
  CHECK(Floats(y.begin(), y.begin() + 6) == Floats{20, 21, 0, 1, 20, 21});
  for (std::size_t i = 6; i < 10; ++i) CHECK(std::isnan(y[i]));
}

TEST_CASE("get_rows: decodes rows of any format") {
  for (const DType dtype : {f16, bf16, q8_0}) {
    CAPTURE(dtype.name());
    Graph g;
    const Tensor table = g.weight("table", {dtype, {4, 32}});
    g.output("y", get_rows(table, g.input("ids", {i32, {1}})));
    Evaluator eval(g, kPadded);
    eval.floats("table", noise(128, 3)).ints("ids", {2}).run();
    const Floats all = eval.floats("table");
    CHECK(eval.floats("y") == Floats(all.begin() + 64, all.begin() + 96));
  }
}

TEST_CASE("get_rows: K ids for each token give K rows side by side") {
  Graph g;
  const Dim t = g.variable("T", 8);
  const Tensor table = g.weight("table", {f32, {3, 2}});
  g.output("y", get_rows(table, g.input("ids", {i32, {t, 3}})));
  CHECK(to_string(g[2].spec) == "F32 [?<=8, 3, 2]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 2)
      .floats("table", {0, 1, 10, 11, 20, 21})
      .ints("ids", {2, 0, 3, 1, -1, 1})
      .run();
  const Floats y = eval.floats("y");
  CHECK(Floats(y.begin(), y.begin() + 4) == Floats{20, 21, 0, 1});
  CHECK(Floats(y.begin() + 6, y.begin() + 8) == Floats{10, 11});
  CHECK(Floats(y.begin() + 10, y.end()) == Floats{10, 11});
  for (const std::size_t i : {4, 5, 8, 9}) CHECK(std::isnan(y[i]));
}

TEST_CASE("get_rows: costs the rows it reads, not the table") {
  const std::vector<TensorSpec> in{{q8_0, {32000, 64}}, {i32, {5}}};
  const TensorSpec out = kGetRows.infer({}, in);
  const Cost cost = kGetRows.cost({}, in, out, {});
  CHECK(cost.bytes_read == 5 * 68 + 20);
  CHECK(cost.bytes_written == 5 * 64 * 4);
  const std::vector<TensorSpec> wide{{q8_0, {32000, 64}}, {i32, {5, 3}}};
  CHECK(kGetRows.cost({}, wide, kGetRows.infer({}, wide), {}).bytes_read == 15 * 68 + 60);
}

TEST_CASE("get_rows: invalid arguments") {
  const TensorSpec table{f32, {3, 2}}, ids{i32, {4}};
  CHECK(refusal(kGetRows, {}, {{i32, {3, 2}}, ids}) ==
        "DTypeError: table must have a type with a codec, got I32");
  CHECK(refusal(kGetRows, {}, {{f32, {3}}, ids}) == "ShapeError: table must be [N, D], got [3]");
  CHECK(refusal(kGetRows, {}, {table, {f32, {4}}}) == "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kGetRows, {}, {table, {i32, {4, 1}}}) == "accepted");
  CHECK(refusal(kGetRows, {}, {table, {i32, {}}}) ==
        "ShapeError: ids must be [T] or [T, K], got []");
  CHECK(refusal(kGetRows, {}, {table, {i32, {4, 1, 1}}}) ==
        "ShapeError: ids must be [T] or [T, K], got [4, 1, 1]");
}

}  // namespace
}  // namespace weft
