#include "shard/decide.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "weft/base/error.h"

namespace weft::scheduler {
namespace {

constexpr std::int64_t kRowGranule = 32;  // of projections whose results are gathered
// A gathered result is an exchange of its own, whose latency must be less than the time in which
// this rank would read the weights of the others: about a megabyte.
constexpr std::int64_t kGatheredFactor = 64;  // of Sharding::min_elems

bool is_projection(const Node& node) {
  return node.op->cuts.terms != nullptr;
}

class Decider {
 public:
  Decider(const Graph& graph, int ranks, std::int64_t min_elems)
      : graph_(graph),
        ranks_(ranks),
        min_elems_(min_elems),
        users_(graph),
        made_{PerNode<Cut>(graph), PerNode<char>(graph)} {}

  Decisions decide() {
    if (ranks_ == 1) return std::move(made_);
    for_each_op([&](NodeId id) { check_heads(id); });
    for_each_op([&](NodeId id) { try_terms(id); });
    for_each_op([&](NodeId id) { try_attention(id); });
    for_each_op([&](NodeId id) { try_rows(id); });
    return std::move(made_);
  }

 private:
  // Cuts that belong together: they are made if that is worth it.
  struct Trial {
    std::map<NodeId, Cut> cuts;
    std::set<NodeId> terms;             // projections that give terms of sums
    std::int64_t elems = 0;             // of weights that are cut
    std::vector<std::int64_t> of_rank;  // elements of them that a rank has; empty: none
    bool possible = true;

    std::int64_t of_largest_rank() const { return of_rank.empty() ? 0 : std::ranges::max(of_rank); }
  };

  template <class F>
  void for_each_op(F f) {
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (graph_[id].op) f(id);
  }

  const Shape& shape(NodeId id) const { return graph_[id].spec.shape; }

  bool has_heads(const Node& node) const {
    return node.op->cuts.by_heads && node.spec.shape.n_dims() == 3 && node.inputs.size() > 1 &&
           node.inputs[1] != kNoNode && shape(node.inputs[1]).n_dims() > 1;
  }

  // Elements of the matrices of a projection.
  std::int64_t matrix_elems(const Node& node) const {
    std::int64_t elems = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoNode && node.op->input(i).use == InputUse::matrix)
        elems += shape(node.inputs[i]).elems();
    return elems;
  }

  void check_heads(NodeId id) const {
    const Node& node = graph_[id];
    if (!has_heads(node)) return;
    const std::int64_t heads = node.spec.shape[1].bound, groups = shape(node.inputs[1])[1].bound;
    const std::int64_t common = groups > 1 ? std::gcd(heads, groups) : heads;
    if (heads == 1 || common % ranks_ == 0) return;  // one head is computed by all ranks
    std::string would;
    for (std::int64_t n = 2; n <= std::min<std::int64_t>(common, kMaxRanks); ++n)
      if (common % n == 0) would += fmt::format("{}tp={}", would.empty() ? "" : ", ", n);
    fail<ValueError>("tp={} does not divide the {} heads and {} key/value heads of '{}' ({})",
                     ranks_, heads, groups, node.path,
                     would.empty() ? "nothing does" : "possible: " + would);
  }

  bool is_cut(NodeId id) const { return !made_.cuts[id].whole(); }

  // Weights are cut anywhere between their blocks.
  void cut_weight(NodeId id, const Cut& cut, Trial& trial) const {
    const Node& node = graph_[id];
    const bool in_rows = cut.axis == node.spec.shape.n_dims() - 1;
    const std::int64_t block = in_rows ? node.spec.dtype.block_elems() : 1;
    if (std::ranges::any_of(cut.ends, [&](std::int64_t end) { return end % block != 0; }))
      trial.possible = false;
    if (node.spec.shape.n_dims() < 2) return;
    const std::int64_t elems = node.spec.shape.elems();
    trial.elems += elems;
    trial.of_rank.resize(static_cast<std::size_t>(ranks_));
    for (int r = 0; r < ranks_; ++r)
      trial.of_rank[static_cast<std::size_t>(r)] += elems / cut.ends.back() * cut.width(r);
  }

  // Whether the output of `id` can be computed in these parts, without asking whether it is worth
  // it. If not, it is computed whole, and its parts are slices.
  bool explore(NodeId id, const Cut& cut, Trial& trial) const {
    const Cut& made = made_.cuts[id];
    if (!made.whole()) return made == cut;
    if (const auto tried = trial.cuts.find(id); tried != trial.cuts.end())
      return tried->second == cut;
    const Node& node = graph_[id];
    if (node.kind == NodeKind::state) {
      trial.cuts[id] = cut;
      return !cut.by_experts();
    }
    if (!node.op || made_.terms[id]) return false;
    const auto needs = cuts_of_inputs(graph_, node, cut);
    if (!needs) return false;
    Trial inner = trial;
    inner.cuts[id] = cut;
    bool is_in_parts = false;  // an input
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId input = node.inputs[i];
      if (input == kNoNode || (*needs)[i].whole()) continue;
      const Cut& need = (*needs)[i];
      if (graph_[input].kind == NodeKind::weight) {
        cut_weight(input, need, inner);
        is_in_parts = true;
      } else if (explore(input, need, inner)) {
        is_in_parts = true;
      } else if (is_state(input)) {
        return false;  // a state is as large as its parts are
      }
    }
    if (!inner.possible || (cut.by_experts() && !is_in_parts)) return false;
    trial = std::move(inner);
    return true;
  }

  bool is_state(NodeId id) const {
    while (graph_[id].op && graph_[id].op->storage == Storage::state) id = graph_[id].inputs[0];
    return graph_[id].kind == NodeKind::state;
  }

  // All that read or write a state that is cut must be cut likewise.
  bool states_agree(const Trial& trial) const {
    const auto is_new_state = [&](const auto& cut) {
      return graph_[cut.first].kind == NodeKind::state;
    };
    if (std::ranges::none_of(trial.cuts, is_new_state)) return true;
    const auto cut_of = [&](NodeId id) {
      const auto tried = trial.cuts.find(id);
      return tried != trial.cuts.end() ? tried->second : made_.cuts[id];
    };
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (!node.op) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const NodeId input = node.inputs[i];
        if (input == kNoNode || !is_state(input) || cut_of(input).whole()) continue;
        const Cut own = cut_of(id);
        const auto needs = own.whole() ? std::nullopt : cuts_of_inputs(graph_, node, own);
        if (!needs || (*needs)[i] != cut_of(input)) return false;
      }
    }
    return true;
  }

  // Whether all nodes that read what cannot be gathered read parts of it. Projections of it give
  // terms, too.
  bool users_agree(Trial& trial) const {
    for (const auto& [id, cut] : trial.cuts) {
      if (!graph_[id].op || cut.axis == 1) continue;
      if (std::ranges::count(graph_.outputs(), id, &Graph::Output::node) > 0) return false;
      for (const NodeId user : users_[id]) {
        const bool fits = trial.terms.contains(user) || reads_part(user, id, cut, trial);
        if (!fits && !add_term(user, cut, trial)) return false;
      }
    }
    return true;
  }

  bool reads_part(NodeId user, NodeId id, const Cut& cut, const Trial& trial) const {
    const auto tried = trial.cuts.find(user);
    const Cut& own = tried != trial.cuts.end() ? tried->second : made_.cuts[user];
    if (own.whole()) return false;
    const auto needs = cuts_of_inputs(graph_, graph_[user], own);
    for (std::size_t i = 0; needs && i < needs->size(); ++i)
      if (graph_[user].inputs[i] == id && (*needs)[i] != cut) return false;
    return needs.has_value();
  }

  // Has a projection compute a term from `cut` of its input.
  bool add_term(NodeId id, const Cut& cut, Trial& trial) const {
    const Node& node = graph_[id];
    if (!is_projection(node) || trial.cuts.contains(id)) return false;
    const auto needs = cuts_of_terms(graph_, node, cut);
    if (!needs) return false;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.op->input(i).use == InputUse::matrix && !(*needs)[i].whole())
        cut_weight(node.inputs[i], (*needs)[i], trial);
    trial.terms.insert(id);
    return trial.possible;
  }

  void commit(const Trial& trial) {
    for (const auto& [id, cut] : trial.cuts) made_.cuts[id] = cut;
    for (const NodeId id : trial.terms) made_.terms[id] = 1;
  }

  // Granules of a dimension that leave every rank something, finest first.
  std::vector<std::int64_t> granules(std::int64_t extent) const {
    std::vector<std::int64_t> all;
    for (std::int64_t g = 1; g * ranks_ <= extent; ++g)
      if (extent % g == 0) all.push_back(g);
    return all;
  }

  // How the input of a projection may be cut, so that every rank computes a term of the results.
  std::vector<Cut> cuts_of_x(const Node& node) const {
    const Shape& x = shape(node.inputs[0]);
    const int axis = x.n_dims() - 1;
    std::vector<Cut> cuts;
    for (const std::int64_t granule : granules(x[axis].bound))
      cuts.push_back(even_cut(axis, x[axis].bound, granule, ranks_));
    const ChosenMatrices experts = chosen_matrices(node);
    if (experts.weight == kNoNode || x.n_dims() != 3) return cuts;
    const std::int64_t n_experts = shape(experts.weight)[0].bound;
    if (n_experts >= ranks_) cuts.push_back(cut_by_experts(experts.ids, n_experts, ranks_));
    return cuts;
  }

  // A projection of an input that can be computed in parts, by heads, columns or experts: in those
  // that cut most weights, or else most evenly, or else that come first.
  void try_terms(NodeId id) {
    const Node& node = graph_[id];
    if (!is_projection(node) || made_.terms[id] || matrix_elems(node) < min_elems_) return;
    std::optional<Trial> best;
    for (const Cut& cut : cuts_of_x(node)) {
      Trial trial;
      if (!add_term(id, cut, trial)) continue;
      trial.elems = 0;  // its own weight could be cut in any case
      if (!explore(node.inputs[0], cut, trial) || trial.elems == 0) continue;
      const bool more =
          !best || trial.elems > best->elems ||
          (trial.elems == best->elems && trial.of_largest_rank() < best->of_largest_rank());
      if (more && states_agree(trial) && users_agree(trial)) best = std::move(trial);
    }
    if (best) commit(*best);
  }

  // Heads of an attention whose results are needed whole.
  void try_attention(NodeId id) {
    const Node& node = graph_[id];
    if (!has_heads(node) || is_cut(id)) return;
    const std::int64_t heads = node.spec.shape[1].bound;
    if (heads == 1) return;
    Trial trial;
    if (explore(id, even_cut(1, heads, heads / ranks_, ranks_), trial) && trial.elems > 0 &&
        states_agree(trial))
      commit(trial);
  }

  // Rows of a projection whose results are needed whole.
  void try_rows(NodeId id) {
    const Node& node = graph_[id];
    if (!is_projection(node) || is_cut(id) || made_.terms[id]) return;
    const int axis = node.spec.shape.n_dims() - 1;
    const std::int64_t n = node.spec.shape[axis].bound;
    const std::int64_t granule = n % kRowGranule == 0 ? kRowGranule : 1;
    if (matrix_elems(node) < kGatheredFactor * min_elems_ || n / granule < ranks_) return;
    if (axis != 1) return;  // only rows of two dimensions can be gathered
    Trial trial;
    if (explore(id, even_cut(axis, n, granule, ranks_), trial)) commit(trial);
  }

  const Graph& graph_;
  const int ranks_;
  const std::int64_t min_elems_;
  const NodeUsers users_;
  Decisions made_;
};

}  // namespace

Decisions decide(const Graph& graph, int ranks, std::int64_t min_elems) {
  return Decider(graph, ranks, min_elems).decide();
}

}  // namespace weft::scheduler
