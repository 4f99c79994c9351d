// Which architectures say how their experts are chosen, so that the experts can be guessed.

#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "weft/arch/builder.h"
#include "weft/arch/made_source.h"
#include "weft/base/error.h"

#include "support/built_graph.h"

namespace weft::arch {
namespace {

// The choices in the graph by which a product chooses its matrices.
std::set<NodeId> choices_of(const Graph& graph) {
  std::set<NodeId> choices;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId ids = chosen_matrices(graph[id]).ids;
    if (ids != kNoNode) choices.insert(ids);
  }
  return choices;
}

TEST_CASE("every architecture with experts names its routers, but for three") {
  std::set<std::string> all, without;
  for (const Architecture* architecture : architectures()) {
    MadeSource source(std::string(architecture->name), {.L = 4, .X = 4});
    try {
      source.learn(*architecture);
    } catch (const Error&) {
      continue;  // It has no mixtures of experts of these sizes.
    }
    const Graph graph = test::build(source, {.tokens = 8, .logits_rows = 1, .context = 64});
    for (const NodeId ids : choices_of(graph)) {
      all.insert(std::string(architecture->name));
      if (!graph.router(ids)) without.insert(std::string(architecture->name));
    }
  }
  CHECK(all.size() == 56);
  // The routers of gemma4 have a norm of their own, those of smallthinker none; grovemoe chooses
  // groups of experts, too.
  CHECK(fmt::format("{}", fmt::join(without, " ")) == "gemma4 grovemoe smallthinker");
}

}  // namespace
}  // namespace weft::arch
