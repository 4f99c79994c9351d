#include "cpu/passes/pack_weights.h"

#include <algorithm>
#include <vector>

#include "weft/ops/formats/panels.h"
#include "weft/ops/get_rows.h"

#include "cpu/cpu_ops.h"
#include "cpu/passes/projections.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

bool is_weight_of(const Node& user, NodeId id) {
  return std::ranges::count(projection_weights(user), id) != 0;
}

// A user that finds its way in panels.
bool reads_panels(const Graph& graph, const Node& user, NodeId id, Isa isa) {
  if (user.op == &kGetRows) return user.inputs[1] != id;
  return is_weight_of(user, id) && user.inputs[0] != id &&
         has_panel_row(graph[user.inputs[0]].spec.dtype, graph[id].spec.dtype, isa);
}

// Every user reads panels, at least one of them all of the weight, and there is a panel to read.
std::vector<bool> packable(const Graph& graph, Isa isa) {
  std::vector<bool> all(static_cast<std::size_t>(graph.size()), true), any(all.size());
  for (NodeId user = 0; user < graph.size(); ++user) {
    for (const NodeId id : graph[user].inputs) {
      if (id == kNoNode || graph[id].kind != NodeKind::weight) continue;
      const auto i = static_cast<std::size_t>(id);
      all[i] = all[i] && reads_panels(graph, graph[user], id, isa);
      any[i] = any[i] || graph[user].op != &kGetRows;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Node& node = graph[static_cast<NodeId>(i)];
    all[i] = all[i] && any[i] && node.spec.shape.rows().bound >= kPanelRows;
  }
  for (const Graph::Output& output : graph.outputs())
    all[static_cast<std::size_t>(output.node)] = false;
  return all;
}

template <Isa kIsa>
Graph apply(const Graph& graph) {
  const std::vector<bool> packs = packable(graph, kIsa);
  Rewriter rewriter(graph, "pack_weights");
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool is_weight = graph[id].kind == NodeKind::weight;
    if (is_weight && packs[static_cast<std::size_t>(id)]) {
      rewriter.copy_as(id, panels_of(graph[id].spec.dtype));
    } else {
      rewriter.copy(id);
    }
  }
  return rewriter.finish();
}

}  // namespace

Pass pack_weights(Isa isa) {
  using Apply = Graph (*)(const Graph&);
  constexpr Apply kApply[] = {apply<Isa::sse2>, apply<Isa::avx2>, apply<Isa::avx512>,
                              apply<Isa::avx512vnni>};
  return {.name = "pack_weights",
          .summary = "weights of projections become panels of 16 interleaved rows",
          .apply = kApply[static_cast<std::size_t>(isa)]};
}

}  // namespace weft::cpu
