// Blocks of quantized caches have one scale each, so that an element far larger than its neighbours
// costs them their precision, and some elements of keys are like that in all tokens. A turn of each
// head spreads them. Scores are dot products of two heads that were both turned; sums of values are
// turned back.

#include <algorithm>
#include <map>
#include <optional>

#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/rows/hadamard.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

// How an op reads caches: input 0 are queries, input 1 keys.
struct Reader {
  const OpDef* op;
  int values;  // index of the input whose sums are the output; -1: none
};
constexpr Reader kReaders[] = {{&kAttention, 2},
                               {&kBiasedAttention, 2},
                               {&kChosenAttention, 2},
                               {&kJoinedAttention, 1},
                               {&kChoosePositions, -1}};

const Reader* find_reader(const Node& node) {
  const auto* reader = std::ranges::find(kReaders, node.op, &Reader::op);
  return reader == std::end(kReaders) ? nullptr : reader;
}

// The caches to turn: states, and what is written to them.
class Caches {
 public:
  Caches(const Graph& graph, bool (*wanted)(DType)) : graph_(graph), wanted_(wanted) {}
  bool operator()(NodeId id) const {
    if (id == kNoNode) return false;
    const Node& node = graph_[id];
    return (node.kind == NodeKind::state || node.op == &kCacheWrite) && wanted_(node.spec.dtype);
  }

 private:
  const Graph& graph_;
  bool (*wanted_)(DType);
};

// Whether all that reads caches is known, and gets queries that can be turned. Otherwise none are:
// the other graphs of a session may use the same caches.
bool may_turn(const Matching& match, const Caches& is_cache) {
  const Graph& graph = match.graph();
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == &kHadamard || (is_cache(id) && match.is_output(id))) return false;
    const Reader* const reader = find_reader(graph[id]);
    const bool is_known =
        graph[id].op == &kCacheWrite || (reader && graph[graph[id].inputs[0]].spec.dtype == f32);
    if (!is_known && std::ranges::any_of(graph[id].inputs, is_cache)) return false;
  }
  return true;
}

class Turning {
 public:
  Turning(const Graph& graph, const Caches& is_cache, Rewriter& rewriter)
      : graph_(graph), is_cache_(is_cache), rewriter_(rewriter) {}

  // Returns false if the node has nothing to do with caches that are turned.
  bool replace(NodeId id) {
    const Node& node = graph_[id];
    if (node.op == &kCacheWrite && is_cache_(id)) {
      rewriter_.replace(id, *node.op, with_turned(node, 1), node.attrs);
      return true;
    }
    const Reader* reader = find_reader(node);
    if (!reader) return false;
    const auto from_cache = [&](int i) {
      return i >= 0 && is_cache_(node.inputs[static_cast<std::size_t>(i)]);
    };
    const bool keys = from_cache(1), values = from_cache(reader->values);
    if (!keys && !values) return false;
    const std::vector<Tensor> inputs = with_turned(node, keys ? 0 : -1);
    if (!values) {
      rewriter_.replace(id, *node.op, inputs, node.attrs);
      return true;
    }
    const Tensor sums =
        rewriter_.insert(*node.op, inputs, node.attrs, node.path + kSuffix, node.where);
    rewriter_.replace(id, kHadamard, {{sums}}, {});
    return true;
  }

 private:
  static constexpr const char* kSuffix = ".turned";

  // The inputs of a node, of which one is turned; index -1: none.
  std::vector<Tensor> with_turned(const Node& node, int index) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId in = node.inputs[i];
      const bool turn = static_cast<int>(i) == index;
      inputs.push_back(in == kNoNode ? Tensor() : turn ? turned(in) : rewriter_(in));
    }
    return inputs;
  }

  Tensor turned(NodeId x) {
    const auto [at, is_new] = turned_.emplace(x, Tensor());
    if (is_new) {
      const Tensor in[] = {rewriter_(x)};
      at->second = rewriter_.insert(kHadamard, in, {}, graph_[x].path + kSuffix, graph_[x].where);
    }
    return at->second;
  }

  const Graph& graph_;
  const Caches is_cache_;
  Rewriter& rewriter_;
  std::map<NodeId, Tensor> turned_;  // by what is turned
};

bool in_blocks(DType cache) {
  return cache.block_elems() > 1;
}

Graph apply(const Graph& graph) {
  return turn_caches(graph, in_blocks);
}

}  // namespace

Graph turn_caches(const Graph& graph, bool (*wanted)(DType)) {
  const Caches is_cache(graph, wanted);
  const bool may = may_turn(Matching(graph), is_cache);
  std::optional<Turning> turning;
  return rewrite(graph, kTurnCache.name, [&](Rewriter& rewriter, NodeId id) {
    if (!turning) turning.emplace(graph, is_cache, rewriter);
    return may && turning->replace(id);
  });
}

const Pass kTurnCache{
    .name = "turn_cache",
    .summary = "quantized caches: queries, keys and values -> hadamard of them, and of the result",
    .apply = apply,
    .rounds = true};

}  // namespace weft::scheduler
