#pragma once
// Names of parts of weights, and projections whose results are slices of one product.

#include <map>
#include <string>
#include <string_view>

#include "weft/graph/graph.h"
#include "weft/scheduler/shard.h"

namespace weft::scheduler {

class PartNames {
 public:
  // The name of a range of a weight. If the weight is itself a part, the range is relative to it,
  // and the name is that of the corresponding part of its source.
  std::string name(const std::string& weight, const AxisRange& range);
  const WeightPart* find(std::string_view name) const;  // null: it is a whole weight

 private:
  std::map<std::string, WeightPart, std::less<>> parts_;
};

// slice(linear(x, w, b)) -> linear(x, rows of w, elements of b), if nothing else reads the product:
// files may hold queries, keys and values as one matrix, of which each has heads of its own.
Graph split_projections(const Graph& graph, PartNames& parts);

}  // namespace weft::scheduler
