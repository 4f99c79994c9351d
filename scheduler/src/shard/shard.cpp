#include "weft/scheduler/shard.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "weft/base/error.h"
#include "weft/graph/pass.h"
#include "weft/ops/ranks/collectives.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

#include "shard/decide.h"
#include "shard/split_projections.h"
#include "shard/stages.h"

namespace weft {
namespace {

using namespace scheduler;

// Counts a node that is computed whole, unless that is as it should be.
void count_undivided(const Node& node, std::vector<UndividedOp>& ops) {
  const bool says = says_cuts(*node.op);
  const Shape& shape = node.spec.shape;
  const bool wants = node.op->cuts.by_heads && shape.n_dims() == 3 && shape[1].bound > 1;
  if (says && !wants) return;
  auto op = std::ranges::find(ops, node.op->name, &UndividedOp::op);
  if (op == ops.end())
    op = ops.insert(op, {.op = std::string(node.op->name), .says_cuts = says, .first = node.path});
  ++op->n_nodes;
}

// Writes the graph of one rank, node by node of the whole graph.
class RankWriter {
 public:
  RankWriter(const Graph& graph, const Sharding& sharding, int rank, PartNames& parts)
      : graph_(graph),
        sharding_(sharding),
        rank_(rank),
        member_(rank % sharding.tp),
        own_stage_(rank / sharding.tp),
        made_(decide(graph, sharding.tp, sharding.min_elems)),
        stage_(stages_of(graph, sharding.pp)),
        users_(graph.users()),
        parts_(parts),
        rewriter_(graph, "shard"),
        whole_(graph),
        part_(graph),
        term_(graph) {}

  RankGraph write() {
    for (const Variable& v : graph_.variables()) rewriter_.target().variable(v.name, v.bound);
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (graph_[id].kind == NodeKind::input) whole_[id] = rewriter_.copy(id);
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (comes_from_earlier(id)) receive(id);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const bool own = stage_[id] == kEveryStage || stage_[id] == own_stage_;
      if (!own || !graph_[id].op) continue;
      compute(id);
      send_on(id);
    }
    write_results();
    keep_last_exchange();
    RankGraph made{rewriter_.finish_with(outputs_), {}, results_, std::move(undivided_)};
    for (NodeId id = 0; id < made.graph.size(); ++id) {
      if (made.graph[id].kind != NodeKind::weight) continue;
      if (const WeightPart* part = parts_.find(made.graph[id].path)) made.parts.push_back(*part);
    }
    return made;
  }

 private:
  // ---- between stages

  int peer_in(int stage) const { return stage * sharding_.tp + member_; }

  bool is_read_in(NodeId id, int stage) const {
    return std::ranges::any_of(users_[id], [&](NodeId user) { return stage_[user] == stage; });
  }

  bool comes_from_earlier(NodeId id) const {
    return stage_[id] != kEveryStage && stage_[id] < own_stage_ && is_read_in(id, own_stage_);
  }

  void check_sendable(NodeId id) const {
    const Node& node = graph_[id];
    if (node.spec.dtype == f32 && node.spec.shape.n_dims() >= 2) return;
    fail<UnsupportedError>("'{}' ({}) is read by a later stage, which only rows of F32 can be",
                           node.path, to_string(node.spec));
  }

  // An input of the graph with as many rows.
  Tensor rows_like(NodeId id) const {
    for (NodeId input = 0; input < graph_.size(); ++input) {
      const Node& node = graph_[input];
      if (node.kind == NodeKind::input && node.spec.shape.n_dims() >= 1 &&
          node.spec.shape[0] == graph_[id].spec.shape[0])
        return whole_[input];
    }
    fail<UnsupportedError>("no input has as many rows as '{}'", graph_[id].path);
  }

  Tensor exchange(const OpDef& op, Tensor x, const Attrs& attrs, const std::string& path,
                  NodeId like) {
    last_ = rewriter_.insert(op, std::array{x, last_}, attrs, path, graph_[like].where);
    return last_;
  }

  PeerAttrs to_peer(int peer, std::int64_t cols, bool result = false) {
    return {.peer = peer, .index = with_peer_[peer]++, .cols = cols, .result = result};
  }

  void receive(NodeId id) {
    check_sendable(id);
    const Node& node = graph_[id];
    const Tensor rows =
        exchange(kRecv, rows_like(id), to_peer(peer_in(stage_[id]), node.spec.shape.cols()),
                 node.path + ".recv", id);
    whole_[id] = shaped_like(rows, id);
  }

  // Gives rows [T, D] the shape of a node, [T, D] or [T, H, E].
  Tensor shaped_like(Tensor rows, NodeId id) {
    const Shape& shape = graph_[id].spec.shape;
    if (shape.n_dims() == 2) return rows;
    return rewriter_.insert(kReshape, std::array{rows}, ReshapeAttrs{shape.last()},
                            graph_[id].path + ".heads", graph_[id].where);
  }

  Tensor flat(Tensor x, NodeId id) {
    if (x.shape().n_dims() == 2) return x;
    return rewriter_.insert(kReshape, std::array{x}, ReshapeAttrs{}, graph_[id].path + ".flat",
                            graph_[id].where);
  }

  void send_on(NodeId id) {
    if (stage_[id] == kEveryStage) return;
    for (int stage = own_stage_ + 1; stage < sharding_.pp; ++stage) {
      if (!is_read_in(id, stage)) continue;
      check_sendable(id);
      const Tensor x = flat(whole(id), id);
      const std::string path = fmt::format("{}.send", graph_[id].path);
      const Tensor sent = exchange(kSend, x, to_peer(peer_in(stage), x.shape().cols()), path, id);
      outputs_.push_back({sent.graph()[sent.id()].path, sent.id()});
    }
  }

  // Rank 0 has all results.
  void write_results() {
    for (const Graph::Output& output : graph_.outputs()) {
      const int stage = std::max(stage_[output.node], 0);
      if (stage == own_stage_) add_result(output, whole(output.node));
      if (stage == 0 || member_ != 0) continue;
      const std::int64_t cols = graph_[output.node].spec.shape.cols();
      if (stage == own_stage_) {
        const Tensor x = flat(whole(output.node), output.node);
        const Tensor sent =
            exchange(kSend, x, to_peer(0, cols, true), output.name + ".send", output.node);
        outputs_.push_back({output.name + ".sent", sent.id()});
      } else if (rank_ == 0) {
        check_sendable(output.node);
        const Tensor rows =
            exchange(kRecv, rows_like(output.node), to_peer(stage * sharding_.tp, cols, true),
                     output.name + ".recv", output.node);
        add_result(output, shaped_like(rows, output.node));
      }
    }
  }

  void add_result(const Graph::Output& output, Tensor t) {
    outputs_.push_back({output.name, t.id()});
    results_.push_back(output.name);
  }

  // Otherwise one rank of a group might drop exchanges, which nobody reads, and another not.
  void keep_last_exchange() {
    if (!last_ || std::ranges::count(outputs_, last_.id(), &Graph::Output::node) > 0) return;
    outputs_.push_back({"exchanged", last_.id()});
  }

  // ---- within a group

  GroupAttrs in_group(std::int64_t cols) {
    return {.first = own_stage_ * sharding_.tp,
            .ranks = sharding_.tp,
            .index = in_group_++,
            .cols = cols};
  }

  // All of a node's output.
  Tensor whole(NodeId id) {
    if (whole_[id]) return whole_[id];
    const Node& node = graph_[id];
    if (!node.op && made_.cuts[id].whole()) return whole_[id] = leaf(id, Cut{});
    if (term_[id]) {
      const Tensor x = flat(term_[id], id);
      const Tensor sum =
          exchange(kAllReduce, x, in_group(x.shape().cols()), node.path + ".sum", id);
      return whole_[id] = shaped_like(sum, id);
    }
    if (!part_[id] || made_.cuts[id].axis != 1 || node.spec.dtype != f32)
      fail<Error>("shard: '{}' is needed whole, but was cut", node.path);
    const Tensor x = flat(part_[id], id);
    const Tensor all =
        exchange(kAllGather, x, in_group(node.spec.shape.cols()), node.path + ".all", id);
    return whole_[id] = shaped_like(all, id);
  }

  // The part of this rank.
  Tensor part(NodeId id, const Cut& cut) {
    if (id == kNoNode) return {};
    if (cut.whole()) return whole(id);
    if (!graph_[id].op && graph_[id].kind != NodeKind::input) return leaf(id, cut);
    if (part_[id] && made_.cuts[id] == cut) return part_[id];
    return slice_of(id, cut);
  }

  Tensor slice_of(NodeId id, const Cut& cut) {
    const Node& node = graph_[id];
    const Tensor all = whole(id);
    if (cut.by_experts()) return all;
    const std::int64_t begin = cut.begin(member_), end = cut.end(member_);
    const std::string path = node.path + ".part";
    const auto insert = [&](const OpDef& op, Tensor x, Attrs attrs) {
      return rewriter_.insert(op, std::array{x}, std::move(attrs), path, node.where);
    };
    if (cut.axis == 2) return insert(kSliceHeads, all, SliceHeadsAttrs{begin, end});
    const std::int64_t inner = node.spec.shape.cols() / node.spec.shape[1].bound;
    const Tensor cols = insert(kSlice, flat(all, id), SliceAttrs{begin * inner, end * inner});
    return shaped_like(cols, id);
  }

  // A weight or a state, or the part of it.
  Tensor leaf(NodeId id, const Cut& cut) {
    const Node& node = graph_[id];
    TensorSpec spec = node.spec;
    std::string path = node.path;
    if (!cut.whole()) {
      std::vector<Dim> dims(spec.shape.begin(), spec.shape.end());
      dims[static_cast<std::size_t>(cut.axis)] = cut.width(member_);
      spec.shape = Shape(dims);
      if (node.kind == NodeKind::weight)
        path = parts_.name(node.path, {cut.axis, cut.begin(member_), cut.end(member_)});
    }
    Graph& to = rewriter_.target();
    if (const NodeId made = to.find(path); made != kNoNode) return to.tensor(made);
    return node.kind == NodeKind::weight ? to.weight(path, spec, node.where)
                                         : to.state(path, spec, node.where);
  }

  void compute(NodeId id) {
    const Node& node = graph_[id];
    if (made_.terms[id]) {
      term_[id] = add_term(id, made_.cuts[node.inputs[0]]);
    } else if (!made_.cuts[id].whole()) {
      const Cut& cut = made_.cuts[id];
      part_[id] = add(id, *cuts_of_inputs(graph_, node, cut), attrs_of_part(node, cut, member_));
    } else if (is_term(node)) {
      std::vector<Tensor> inputs;
      for (const NodeId input : node.inputs)
        inputs.push_back(input != kNoNode && is_pending(input) ? term_[input] : part(input, {}));
      term_[id] = rewriter_.insert(*node.op, inputs, node.attrs, node.path, node.where);
    } else {
      if (sharding_.tp > 1) count_undivided(node, undivided_);
      whole_[id] = add(id, std::vector<Cut>(node.inputs.size()), node.attrs);
    }
  }

  Tensor add(NodeId id, const std::vector<Cut>& cuts, const Attrs& attrs) {
    const Node& node = graph_[id];
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      inputs.push_back(part(node.inputs[i], cuts[i]));
    return rewriter_.insert(*node.op, inputs, attrs, node.path, node.where);
  }

  // From a part of the first input. What is added to the result is added once.
  Tensor add_term(NodeId id, const Cut& cut) {
    const Node& node = graph_[id];
    const std::vector<Cut> cuts = *cuts_of_terms(graph_, node, cut);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool addend = node.op->input(i).use == InputUse::addend;
      inputs.push_back(addend && member_ != 0 ? Tensor() : part(node.inputs[i], cuts[i]));
    }
    const Attrs attrs = attrs_of_part(node, cut, member_);
    return rewriter_.insert(*node.op, inputs, attrs, node.path, node.where);
  }

  // A term that has not been added up yet.
  bool is_pending(NodeId id) const { return term_[id] && !whole_[id]; }

  bool is_term(const Node& node) const {
    std::vector<bool> partial;
    for (const NodeId input : node.inputs) partial.push_back(input != kNoNode && is_pending(input));
    return std::ranges::find(partial, true) != partial.end() && is_linear_in(node, partial);
  }

  const Graph& graph_;
  const Sharding sharding_;
  const int rank_, member_, own_stage_;
  const Decisions made_;
  const PerNode<int> stage_;
  const NodeUsers users_;
  PartNames& parts_;
  Rewriter rewriter_;
  PerNode<Tensor> whole_, part_, term_;    // by node of the whole graph; none: not made
  Tensor last_;                            // exchange
  std::int32_t in_group_ = 0;              // numbers of exchanges
  std::map<int, std::int32_t> with_peer_;  // by rank
  std::vector<Graph::Output> outputs_;
  std::vector<std::string> results_;
  std::vector<UndividedOp> undivided_;
};

}  // namespace

RankGraph shard(const Graph& graph, const Sharding& sharding, int rank) {
  PartNames parts;
  Graph split = without_dead_nodes(graph);
  if (sharding.tp > 1) split = split_projections(split, parts);
  RankGraph made = RankWriter(split, sharding, rank, parts).write();
  check(made.graph);
  return made;
}

}  // namespace weft
