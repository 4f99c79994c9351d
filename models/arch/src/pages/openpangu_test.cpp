// openPangu 2.0: what its layers attend to, and what is refused.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/arch/made_source.h"
#include "weft/base/error.h"
#include "weft/ops/attention/joined_attention.h"

#include "support/built_graph.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;

using List = std::vector<std::int64_t>;

MadeSource source(const List& layers = {1}, const List& windows = {16}) {
  MadeSource made("openpangu", {.L = 3});
  made.path = "tiny.gguf";
  made.keys["openpangu.swa_layers"] = layers;
  made.keys["openpangu.sliding_window_list"] = windows;
  made.keys["openpangu.attention.indexer.top_k"] = 5;
  return made;
}

Graph build(const MadeSource& made) {
  return test::build(made, {.tokens = 4, .sequences = 2, .context = 1000});
}

std::string refused(const List& layers, const List& windows) {
  MadeSource made = source(layers, windows);
  try {
    made.learn();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("openpangu: learned cells beside a window, or beside what an indexer chooses") {
  MadeSource made = source();
  made.learn();
  const Graph graph = build(made);
  const auto input = [&](std::int64_t layer, std::size_t index) {
    const Node& attn = node(graph, "blk." + std::to_string(layer) + ".attn_beside");
    CHECK(attn.op == &kJoinedAttention);
    return graph[attn.inputs[index]].path;
  };
  using namespace joined_attention_inputs;
  CHECK(input(0, kTable) == "table.fixed70");
  CHECK(input(0, kTable2) == "table");
  CHECK(input(0, kChosen) == "blk.0.chosen");
  CHECK(input(1, kTable) == "table.w16");
  CHECK(input(1, kTable2) == "table.fixed70");
  const auto window = [&](const char* path) {
    return node(graph, path).attrs.as<JoinedAttentionAttrs>().window;
  };
  CHECK(window("blk.0.attn_beside") == 70);
  CHECK(window("blk.1.attn_beside") == 16);
  CHECK(node(graph, "cache.fixed.1").spec.shape[0] == Dim(2));  // 70 cells in blocks of 64
  CHECK(node(graph, "table.fixed70").spec.shape == Shape{2, 2});
}

TEST_CASE("openpangu: lists of windows that do not fit") {
  CHECK(refused({0, 1}, {16}) ==
        "tiny.gguf: key 'openpangu.sliding_window_list' is a list of 1, must be one of 2, as "
        "swa_layers");
  CHECK(refused({3}, {16}) == "tiny.gguf: key 'openpangu.swa_layers' is 3, must be 0..2");
  CHECK(refused({0}, {-1}) ==
        "tiny.gguf: key 'openpangu.sliding_window_list' is -1, must be 0..2147483647");
}
