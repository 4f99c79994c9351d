#include "plan/lanes.h"

#include <algorithm>

#include "exchange/collectives.h"

namespace weft::lanes {

Cols normalized(Cols cols) {
  std::erase_if(cols, [](const ColRange& r) { return r.begin >= r.end; });
  std::sort(cols.begin(), cols.end(),
            [](const ColRange& a, const ColRange& b) { return a.begin < b.begin; });
  Cols out;
  for (const ColRange& r : cols) {
    if (!out.empty() && r.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, r.end);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

bool overlap(const Cols& a, const Cols& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].end <= b[j].begin) {
      ++i;
    } else if (b[j].end <= a[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

std::int64_t width(const Cols& cols) {
  std::int64_t n = 0;
  for (const ColRange& r : cols) n += r.end - r.begin;
  return n;
}

Cols within(const Cols& cols, ColRange range) {
  Cols out;
  for (const ColRange& r : cols) {
    const ColRange part{std::max(r.begin, range.begin), std::min(r.end, range.end)};
    if (part.begin < part.end) out.push_back(part);
  }
  return out;
}

std::int64_t col_granule(const Graph& graph, const Node& node) {
  if (!node.op->col_granule) return 1;
  const auto specs = graph.input_specs(node);
  return std::max<std::int64_t>(1, node.op->col_granule(node.attrs, specs, node.spec));
}

namespace {

// An op that reads an input element by element has that input's segments, so that a lane keeps its
// columns. Looks back over a few such ops only.
std::vector<std::int64_t> segments_of(const Graph& graph, const Node& node, int steps_back) {
  if (node.op->col_segments) return node.op->col_segments(node.attrs, graph.input_specs(node));
  for (std::size_t i = 0; steps_back > 0 && !node.op->map_cols && i < node.inputs.size(); ++i) {
    const NodeId input = node.inputs[i];
    if (input == kNoNode || !graph[input].op || node.op->input(i).reach != Reach::same ||
        graph[input].op->storage != Storage::fresh || graph[input].spec.shape != node.spec.shape)
      continue;
    auto segments = segments_of(graph, graph[input], steps_back - 1);
    const std::int64_t granule = col_granule(graph, node);
    const auto fits = [&](std::int64_t end) { return end % granule == 0; };
    if (segments.size() > 1 && std::ranges::all_of(segments, fits)) return segments;
  }
  return {node.spec.shape.cols()};
}

// The ranges of columns in which ranks send each other the node's results, if they add them up:
// lanes that compute the first range together can send it while they compute the next one. None if
// the sum does not follow soon, as that of a projection does: then it is not worth much.
std::vector<std::int64_t> sent_ranges(const Graph& graph, const Node& node) {
  constexpr NodeId kNodesAhead = 8;
  const NodeId id = graph.find(node.path), end = std::min(graph.size(), id + 1 + kNodesAhead);
  for (NodeId user = id + 1; user < end; ++user) {
    const Node& sum = graph[user];
    if (!sum.op || !sum.op->collective || sum.inputs[0] != id) continue;
    auto ends = scheduler::collective_of(*sum.op).layout(graph, sum).chunks.ends;
    const std::int64_t granule = col_granule(graph, node);
    const auto fits = [&](std::int64_t at) { return at % granule == 0; };
    if (ends.size() > 1 && std::ranges::all_of(ends, fits)) return ends;
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> col_segments(const Graph& graph, const Node& node) {
  constexpr int kStepsBack = 8;
  if (!node.op->col_segments) {
    if (auto ranges = sent_ranges(graph, node); ranges.size() > 1) return ranges;
  }
  return segments_of(graph, node, kStepsBack);
}

Source source_of(const Graph& graph, NodeId id) {
  Source source{id};
  while (graph[source.node].op && graph[source.node].op->storage == Storage::view) {
    const Node& view = graph[source.node];
    const NodeId input = view.inputs[0];
    if (view.op->view_col) source.col += view.op->view_col(view.attrs, graph.input_specs(view));
    if (graph[input].spec.shape.rows() != view.spec.shape.rows()) source.rows_match = false;
    source.node = input;
  }
  return source;
}

NodeId state_of(const Graph& graph, NodeId id) {
  for (;;) {
    id = source_of(graph, id).node;
    const Node& node = graph[id];
    if (node.kind == NodeKind::state) return id;
    if (!node.op || node.op->storage != Storage::state) return kNoNode;
    id = node.inputs[0];
  }
}

bool reads(const Graph& graph, const Node& node, std::size_t i, NodeId id) {
  return node.inputs[i] != kNoNode && source_of(graph, node.inputs[i]).node == id;
}

bool is_output(const Graph& graph, NodeId id) {
  return std::ranges::any_of(graph.outputs(), [&](const Graph::Output& output) {
    return source_of(graph, output.node).node == id;
  });
}

Need need(const Graph& graph, const Node& user, std::size_t input, const Share& share, int lane) {
  const Source source = source_of(graph, user.inputs[input]);
  const Shape& seen = graph[user.inputs[input]].spec.shape;
  const std::int64_t seen_cols = seen.cols();
  const Reach reach = user.op->input(input).reach;
  const bool by_col = reach == Reach::same || reach == Reach::col;
  if (!source.rows_match) return {{{0, graph[source.node].spec.shape.cols()}}};

  Need out;
  out.own_rows = share.split == Split::rows && (reach == Reach::same || reach == Reach::row) &&
                 seen.rows() == user.spec.shape.rows();
  const bool mapped = user.op->map_cols != nullptr;
  if (by_col && share.split == Split::cols && (mapped || seen_cols == user.spec.shape.cols())) {
    const auto specs = mapped ? graph.input_specs(user) : std::vector<TensorSpec>{};
    for (const ColRange& r : share.cols[static_cast<std::size_t>(lane)]) {
      out.cols.push_back(mapped ? user.op->map_cols(user.attrs, specs, static_cast<int>(input), r)
                                : r);
    }
    out.cols = within(normalized(std::move(out.cols)), {0, seen_cols});
  } else if (share.split != Split::cols || !share.cols[static_cast<std::size_t>(lane)].empty()) {
    out.cols = {{0, seen_cols}};
  }
  for (ColRange& r : out.cols) r = {r.begin + source.col, r.end + source.col};
  return out;
}

bool needs_other_lanes(const Need& need, int lane, const Share& maker, int lanes) {
  if (need.cols.empty()) return false;
  switch (maker.split) {
    case Split::copies:
      return false;
    case Split::one:
      return maker.lane != lane;
    case Split::rows:
      return !need.own_rows;
    case Split::cols:
      break;
  }
  for (int other = 0; other < lanes; ++other) {
    if (other != lane && overlap(need.cols, maker.cols[static_cast<std::size_t>(other)]))
      return true;
  }
  return false;
}

}  // namespace weft::lanes
