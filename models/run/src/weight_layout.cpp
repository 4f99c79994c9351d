#include "weight_layout.h"

#include <algorithm>
#include <tuple>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/get_rows.h"

namespace weft::run {
namespace {

// Whether steps read the whole weight, and not only some rows of it.
PerNode<bool> read_whole(const Graph& graph) {
  PerNode<bool> whole(graph);
  for (NodeId user = 0; user < graph.size(); ++user) {
    for (const NodeId id : graph[user].inputs) {
      if (id != kNoNode && graph[user].op != &kGetRows) whole[id] = true;
    }
  }
  return whole;
}

}  // namespace

WeightLayout layout_weights(const Checkpoint& file, const Graph& graph, bool resident,
                            const std::vector<std::string>& off_host) {
  const PerNode<bool> whole = read_whole(graph);
  WeightLayout layout;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::weight || std::ranges::count(off_host, node.path) != 0) continue;
    layout.weights.push_back(
        {.tensor = file.find_tensor(node.path), .dtype = node.spec.dtype, .whole = whole[id]});
  }
  std::ranges::sort(layout.weights, {}, [](const PlacedWeight& w) {
    return std::tuple(w.tensor->part, w.tensor->file_offset);
  });
  for (PlacedWeight& w : layout.weights) {
    const DType in_file = w.tensor->spec.dtype;
    const bool other_type = w.dtype != in_file;
    w.converts = w.dtype.plain() != in_file;
    if (other_type && (!resident || (w.converts && in_file.is_quantized()))) {
      fail<Error>("weight '{}' is {} in the file, the graph needs {}", printable(w.tensor->name),
                  in_file.name(), w.dtype.name());
    }
    layout.changes_types |= other_type;
    // Rows in another order than the graph's must be copied to be reordered.
    const bool reordered = w.tensor->paired_rows != 0;
    if (reordered || (resident && (w.whole || other_type))) {
      w.offset = layout.region_bytes;
      layout.region_bytes += align_up(w.dtype.bytes(w.tensor->spec.shape.elems()));
    } else {
      layout.mapped_bytes += w.tensor->n_bytes;
      if (!w.whole) layout.table_bytes += w.tensor->n_bytes;
    }
  }
  layout.region_bytes = round_to_huge_pages(layout.region_bytes);
  return layout;
}

}  // namespace weft::run
