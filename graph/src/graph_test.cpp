#include "weft/graph/graph.h"

#include <cmath>
#include <stdexcept>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/graph/pass.h"

namespace weft {
namespace {

TensorSpec infer_double(const Attrs&, Specs in) {
  if (in[0].dtype != f32) fail<DTypeError>("x must be F32, got {}", in[0].dtype.name());
  return in[0];
}
constexpr OpInput kDoubleInputs[] = {{"x"}};
const OpDef kDouble{.name = "double", .inputs = kDoubleInputs, .infer = infer_double};

Tensor twice(Tensor x, SourceLine where = std::source_location::current()) {
  return x.graph().add(kDouble, {{x}}, {}, where);
}

TEST_CASE("paths are unique, scoped and stable") {
  Graph g;
  const Dim t = g.variable("T", 8);
  Tensor x = g.input("x", {f32, {t, 4}});
  {
    Graph::Scope scope(g, "blk.0");
    x = twice(twice(x));
  }
  CHECK(g[1].path == "blk.0.double");
  CHECK(g[2].path == "blk.0.double_1");
  CHECK(g.find("blk.0.double_1") == 2);
  CHECK(to_string(x.spec()) == "F32 [?<=8, 4]");
}

TEST_CASE("a full path ignores the scope and stays unique") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  Graph::Scope scope(g, "blk.0");
  const auto here = std::source_location::current();
  const Tensor a = g.add_at("blk.0.attn_q", kDouble, {{x}}, {}, here);
  const Tensor b = g.add_at("blk.0.attn_q", kDouble, {{x}}, {}, here);
  CHECK(g[a.id()].path == "blk.0.attn_q");
  CHECK(g[b.id()].path == "blk.0.attn_q_1");
}

TEST_CASE("errors name op, path and the builder's line") {
  Graph g;
  const Tensor ids = g.input("ids", {i32, {4}});
  const unsigned line = __LINE__ + 1;
  const auto build = [&] { twice(ids); };
  const std::string expected =
      fmt::format("double 'double': x must be F32, got I32 (graph/src/graph_test.cpp:{})", line);
  CHECK_THROWS_WITH_AS(build(), expected.c_str(), DTypeError);
}

TEST_CASE("check refuses a graph without outputs") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  CHECK_THROWS_WITH_AS(check(g), "the graph has no outputs", ValueError);
  g.output("y", twice(x));
  CHECK_NOTHROW(check(g));
}

TEST_CASE("the rewriter drops unused nodes") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  twice(x).named("dead");
  g.output("y", twice(x).named("alive"));
  const Graph clean = without_dead_nodes(g);
  CHECK(clean.find("dead") == kNoNode);
  CHECK(clean.find("alive") != kNoNode);
  CHECK(clean.outputs()[0].name == "y");
}

constexpr OpInput kStateInputs[] = {{"state"}, {"x"}};
TensorSpec infer_first(const Attrs&, Specs in) {
  return in[0];
}
const OpDef kWrite{
    .name = "write", .inputs = kStateInputs, .infer = infer_first, .storage = Storage::state};
const OpDef kLook{
    .name = "look", .inputs = kDoubleInputs, .infer = infer_first, .storage = Storage::view};

TEST_CASE("check refuses old handles of a written state, and writing into anything else") {
  const auto here = std::source_location::current();
  Graph g;
  const Tensor x = g.input("x", {f32, {4}}), state = g.state("state", {f32, {4}});
  const Tensor before = g.add(kLook, {{state}}, {}, here, "before");
  const Tensor first = g.add(kWrite, {{state, x}}, {}, here, "first");
  const Tensor second = g.add(kWrite, {{first, twice(x)}}, {}, here, "second");
  Tensor read;
  std::string expected = "accepted";
  SUBCASE("the newest handle") {
    read = g.add(kLook, {{second}}, {}, here);
  }
  SUBCASE("the state itself") {
    read = state;
    expected = "uses 'state' after 'second' overwrote it";
  }
  SUBCASE("a handle in between") {
    read = first;
    expected = "uses 'first' after 'second' overwrote it";
  }
  SUBCASE("a view from before") {
    read = before;
    expected = "uses 'before' after 'second' overwrote it";
  }
  SUBCASE("no state") {
    read = g.add(kWrite, {{x, x}}, {}, here);
    expected = "writes to 'x', which is not a state";
  }
  g.output("y", twice(read));
  std::string got = "accepted";
  try {
    check(g);
  } catch (const ValueError& e) {
    got = e.what();
  }
  CAPTURE(got);
  CHECK(got.find(expected) != std::string::npos);
}

const OpDef kUpdate{.name = "update",
                    .inputs = kStateInputs,
                    .infer = infer_first,
                    .splits_rows = false,
                    .updates = 0};

TEST_CASE("check: a state that a node updates is used by this node alone") {
  const auto here = std::source_location::current();
  Graph g;
  const Tensor x = g.input("x", {f32, {4}}), state = g.state("state", {f32, {4}});
  Tensor y = g.add(kUpdate, {{state, x}}, {}, here, "first");
  std::string expected = "accepted";
  SUBCASE("one user") {}
  SUBCASE("a reader") {
    y = twice(state);
    expected = "update 'first': updates 'state', which 'double' also uses";
  }
  SUBCASE("a view") {
    g.add(kLook, {{state}}, {}, here, "view");
    expected = "updates 'state', which 'view' also uses";
  }
  SUBCASE("a second update") {
    g.add(kUpdate, {{state, x}}, {}, here, "second");
    expected = "updates 'state', which 'second' also uses";
  }
  SUBCASE("an output") {
    y = state;
    expected = "updates 'state', which is the output 'y'";
  }
  SUBCASE("not a state") {
    g.add(kUpdate, {{x, x}}, {}, here, "second");
    expected = "update 'second': updates 'x', which is not a state";
  }
  g.output("y", y);
  std::string got = "accepted";
  try {
    check(g);
  } catch (const ValueError& e) {
    got = e.what();
  }
  CAPTURE(got);
  CHECK(got.find(expected) != std::string::npos);
}

TEST_CASE("a node that updates a state is alive even if nothing uses its output") {
  const auto here = std::source_location::current();
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  g.add(kUpdate, {{g.state("state", {f32, {4}}), x}}, {}, here, "update");
  g.output("y", twice(x));
  CHECK(without_dead_nodes(g).find("update") != kNoNode);
}

TEST_CASE("check names a node that a pass gave unsuitable inputs") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  const Tensor ids = g.input("ids", {i32, {4}});
  const unsigned line = __LINE__ + 1;
  g.output("y", twice(x).named("y"));
  Rewriter rewriter(g, "confuse");
  rewriter.copy(x.id());
  rewriter.map_to(x.id(), rewriter.copy(ids.id()));
  rewriter.copy(g.find("y"));
  const std::string expected =
      fmt::format("double 'y': x must be F32, got I32 (graph/src/graph_test.cpp:{})", line);
  const Graph wrong = rewriter.finish();
  CHECK_THROWS_WITH_AS(check(wrong), expected.c_str(), DTypeError);
}

TEST_CASE("a node names every pass that made or replaced it") {
  const auto replace_all = [](const Graph& graph, std::string_view pass) {
    Rewriter rewriter(graph, pass);
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      if (!node.op) {
        rewriter.copy(id);
        continue;
      }
      rewriter.replace(id, *node.op, {{rewriter(node.inputs[0])}}, node.attrs);
    }
    return rewriter.finish();
  };
  Graph g;
  g.output("y", twice(g.input("x", {f32, {4}})).named("y"));
  const Graph fused = replace_all(g, "fuse"), lowered = replace_all(fused, "lower");
  CHECK(fused[fused.find("y")].made_by == "fuse");
  CHECK(lowered[lowered.find("y")].made_by == "fuse+lower");
  const Graph again = replace_all(lowered, "lower");
  CHECK(again[again.find("y")].made_by == "fuse+lower");
  CHECK(without_dead_nodes(lowered)[lowered.find("y")].made_by == "fuse+lower");
  CHECK(lowered[lowered.find("x")].made_by.empty());
}

TEST_CASE("a finished rewrite is its live nodes, with inputs, outputs and paths of theirs") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  twice(twice(x).named("dead")).named("dead too");
  const Tensor a = twice(x).named("a");
  twice(a).named("also dead");
  g.output("y", twice(a).named("b"));
  Rewriter rewriter(g, "copy");
  for (NodeId id = 0; id < g.size(); ++id) rewriter.copy(id);
  Graph clean = rewriter.finish();
  REQUIRE(clean.size() == 3);
  const char* paths[] = {"x", "a", "b"};
  for (NodeId id = 0; id < 3; ++id) {
    CHECK(clean[id].path == paths[id]);
    CHECK(clean.find(paths[id]) == id);
    if (id > 0) CHECK(clean[id].inputs == std::vector<NodeId>{id - 1});
  }
  CHECK(clean.outputs().front().node == 2);
  CHECK(twice(clean.tensor(2)).named("dead").id() == 3);  // its path is free again
  check(clean);
}

TEST_CASE("variables have one bound each, and there are not many") {
  Graph g;
  CHECK(g.variable("T", 8) == g.variable("T", 8));
  CHECK_THROWS_WITH_AS(g.variable("T", 9), "variable 'T' has the bound 8, not 9", ValueError);
  CHECK_THROWS_WITH_AS(g.variable("O", 0), "variable 'O' must have a bound of at least 1, got 0",
                       ValueError);
  for (int i = 1; i < kMaxVariables; ++i) g.variable("V" + std::to_string(i), i);
  CHECK_THROWS_WITH_AS(g.variable("W", 1), "a graph has at most 8 variables", ValueError);
  CHECK(g.bounds()[2] == 2);
}

TEST_CASE("the error for a pass that forgets a node names the node") {
  Graph g;
  const Tensor x = g.input("x", {f32, {4}});
  const Tensor y = twice(x).named("y");
  g.output("z", twice(y));
  Rewriter rewriter(g, "forgetful");
  rewriter.copy(x.id());
  CHECK_THROWS_WITH_AS(rewriter.copy(y.id() + 1),
                       "pass forgetful: node 'y' is used before it was copied", ValueError);
}

TEST_CASE("shapes are checked") {
  CHECK_THROWS_AS((Shape{1, 2, 3, 4, 5}), ShapeError);
  CHECK_THROWS_AS((Shape{-1}), ShapeError);
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  CHECK_THROWS_AS((Shape{kLarge, kLarge}), ShapeError);
  CHECK_THROWS_AS((Shape{0, kLarge, kLarge}), ShapeError);
  CHECK(Shape{kLarge, kLarge, kLarge, 0}.elems() == 0);
  CHECK(Shape{kLarge, kLarge, kLarge, 0}.cols() == 0);
  CHECK_THROWS_AS((Shape{4, Dim(8, 0)}), ShapeError);
  CHECK_THROWS_AS((TensorSpec{f32, {kLarge, kLarge >> 18}}.bytes()), ShapeError);
}

}  // namespace
}  // namespace weft
