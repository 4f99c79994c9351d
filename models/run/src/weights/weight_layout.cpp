#include "weights/weight_layout.h"

#include <algorithm>
#include <tuple>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::run {
namespace {

// Whether steps read the whole weight, and not only some rows of it.
PerNode<bool> read_whole(const Graph& graph) {
  PerNode<bool> whole(graph);
  for (NodeId user = 0; user < graph.size(); ++user) {
    const Node& node = graph[user];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoNode && node.op->input(i).use != InputUse::table)
        whole[node.inputs[i]] = true;
    }
  }
  return whole;
}

// Adds the weights of a graph, each once.
void add_weights(const Checkpoint& file, const Graph& graph,
                 const std::vector<std::string>& off_host, std::vector<PlacedWeight>& weights) {
  const PerNode<bool> whole = read_whole(graph);
  const std::size_t n_others = weights.size();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::weight || std::ranges::count(off_host, node.path) != 0) continue;
    const PlacedWeight weight{
        .tensor = file.find_tensor(node.path), .dtype = node.spec.dtype, .whole = whole[id]};
    const auto others = std::span(weights).first(n_others);
    const auto same = std::ranges::find(others, weight.tensor, &PlacedWeight::tensor);
    if (same == others.end()) {
      weights.push_back(weight);
    } else if (same->dtype == weight.dtype) {
      same->whole |= weight.whole;
    } else {
      fail<Error>("the graphs need weight '{}' as {} and as {}", printable(node.path),
                  same->dtype.name(), weight.dtype.name());
    }
  }
}

}  // namespace

bool covers(const WeightLayout& layout, const WeightLayout& wanted) {
  auto at = layout.weights.begin();  // both are in file order
  for (const PlacedWeight& w : wanted.weights) {
    if (w.offset == kInFile) continue;
    at = std::find_if(at, layout.weights.end(),
                      [&](const PlacedWeight& has) { return has.tensor == w.tensor; });
    if (at == layout.weights.end() || at->offset == kInFile || at->dtype != w.dtype) return false;
  }
  return true;
}

WeightLayout layout_weights(const Checkpoint& file, std::span<const Graph* const> graphs,
                            bool resident, const std::vector<std::string>& off_host,
                            const std::set<std::string_view>& streamed) {
  WeightLayout layout;
  for (const Graph* graph : graphs) add_weights(file, *graph, off_host, layout.weights);
  std::ranges::sort(layout.weights, {}, [](const PlacedWeight& w) {
    const CheckpointTensor& t = *w.tensor;
    return t.runs.empty() ? std::tuple(t.part, t.file_offset)
                          : std::tuple(t.runs.front().part, t.runs.front().file_offset);
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
    w.streamed = streamed.contains(w.tensor->name);
    if (w.streamed) continue;
    // Rows in another order than the graph's must be copied to be reordered.
    const bool reordered = !w.tensor->runs.empty();
    if (reordered || (resident && (w.whole || other_type))) {
      w.offset = layout.region_bytes;
      layout.region_bytes += align_up(w.bytes());
    } else {
      layout.mapped_bytes += w.tensor->n_bytes;
      if (!w.whole) layout.table_bytes += w.tensor->n_bytes;
    }
  }
  layout.region_bytes = round_to_huge_pages(layout.region_bytes);
  return layout;
}

}  // namespace weft::run
