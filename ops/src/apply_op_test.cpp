#include "weft/ops/apply_op.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/graph/graph.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/views.h"

#include "support/error_text.h"

namespace weft {
namespace {

using test::text_of;

constexpr SourceLine kHere("toy.py", 7);

// Inputs and weights, and the ops on them by functions or by names.
struct Toy {
  Graph graph;
  Tensor x = graph.input("x", {f32, {3, 64}}), pos = graph.input("pos", {i32, {3}});
  Tensor norm = graph.weight("norm.weight", {f32, {64}});
  Tensor w = graph.weight("up.weight", {f32, {64, 64}});
};

TEST_CASE("ops by name make the nodes that functions make") {
  Toy a, b;
  const Tensor heads = split_heads(linear(rms_norm(a.x, a.norm, 1e-5F), a.w), 4);
  merge_heads(rope(heads, rope_angles(a.pos, {.n_rot = 16, .base = 500}), RopePairs::halves));

  const NamedAttr eps[] = {{"eps", 1e-5F}}, four[] = {{"n_heads", std::int64_t{4}}};
  const NamedAttr angle[] = {{"n_rot", std::int64_t{16}}, {"base", 500.0}};
  const NamedAttr halves[] = {{"pairs", std::string_view("halves")}};
  Tensor y = apply_op("rms_norm", {{b.x, b.norm}}, eps);
  y = apply_op("split_heads", {{apply_op("linear", {{y, b.w}}, {})}}, four);
  y = apply_op("rope", {{y, apply_op("rope_angles", {{b.pos}}, angle)}}, halves);
  apply_op("merge_heads", {{y}}, {});

  REQUIRE(a.graph.size() == b.graph.size());
  for (NodeId id = 0; id < a.graph.size(); ++id) {
    CHECK(a.graph[id].path == b.graph[id].path);
    CHECK(a.graph[id].op == b.graph[id].op);
    CHECK(a.graph[id].attrs == b.graph[id].attrs);
    CHECK(a.graph[id].spec == b.graph[id].spec);
  }
}

std::string error_of(std::string_view op, std::span<const Tensor> in,
                     std::vector<NamedAttr> attrs) {
  return text_of([&] { apply_op(op, in, attrs, kHere); });
}

TEST_CASE("absent inputs at the end are as if they were not given") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 64}});
  const Tensor in[] = {x, {}};
  const Tensor y =
      apply_op("rms_norm", in, std::vector<NamedAttr>{{"eps", 1e-5}}, SourceLine("toy.py", 7));
  CHECK(g[y.id()].op->name == "rms_norm");
  CHECK(g.size() == 2);
}

TEST_CASE("errors name the op, the attribute and the line of the caller") {
  Toy t;
  const Tensor in[] = {t.x};
  CHECK(error_of("rmsnorm", in, {}) == "no op 'rmsnorm'; nearest known: rms_norm (toy.py:7)");
  CHECK(error_of("rms_norm", in, {{"epsilon", 1.0}}) ==
        "rms_norm: has no attribute 'epsilon' (it has eps) (toy.py:7)");
  CHECK(error_of("rms_norm", in, {{"eps", std::string_view("small")}}) ==
        "rms_norm: eps must be a number, got 'small' (toy.py:7)");
  CHECK(error_of("rms_norm", in, {{"eps", 1.0}, {"eps", 1.0}}) ==
        "rms_norm: attribute 'eps' is given twice (toy.py:7)");
  CHECK(error_of("slice", in, {{"begin", 0.5}}) ==
        "slice: begin must be a whole number, got 0.5 (toy.py:7)");
  CHECK(error_of("silu", in, {{"eps", 1.0}}) ==
        "silu: has no attribute 'eps' (it has none) (toy.py:7)");
  CHECK(error_of("rope_angles", {{t.pos}}, {{"n_rot", std::int64_t{1} << 40}}) ==
        "rope_angles: n_rot must be from -2147483648 to 2147483647, got 1099511627776 (toy.py:7)");
  CHECK(error_of("rope", in, {{"pairs", std::string_view("odd")}}) ==
        "rope: pairs must be one of adjacent, halves, got 'odd' (toy.py:7)");
  CHECK(error_of("causal_conv", in, {{"silu", std::int64_t{2}}}) ==
        "causal_conv: silu must be true or false, got 2 (toy.py:7)");
  CHECK(error_of("split_heads", in, {{"n_heads", std::int64_t{5}}}) ==
        "split_heads: x must be rows of a multiple of 5 heads, got [3, 64] (toy.py:7)");
  CHECK(error_of("rms_norm", in, {{"eps", 0.0}}) ==
        "rms_norm 'rms_norm': eps must be positive and finite, got 0 (toy.py:7)");
  CHECK(error_of("add", in, {}) == "add 'add': input 'b' is missing (toy.py:7)");
}

TEST_CASE("signatures name inputs and attributes") {
  const std::vector<OpSignature> all = op_signatures();
  CHECK(std::ranges::is_sorted(all, {}, &OpSignature::name));
  const auto find = [&](std::string_view name) {
    return *std::ranges::find(all, name, &OpSignature::name);
  };
  CHECK(find("rms_norm").inputs.size() == 2);
  CHECK(find("rms_norm").inputs[1].optional);
  CHECK(find("split_heads").attrs->make({}).to_json() == R"({"n_heads":0})");
  CHECK(find("rope").attrs->make({}).to_json() == R"({"pairs":"adjacent"})");
  CHECK(find("concat").variadic);
}

}  // namespace
}  // namespace weft
