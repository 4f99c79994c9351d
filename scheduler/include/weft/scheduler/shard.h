#pragma once
// The pass that divides a graph among ranks: threads or processes that each compute a part of the
// model with a part of its weights and of its memory, and exchange activations by nodes of the
// graph (ops/ranks/collectives.h).
//
// Tensor parallel: the ranks of a group compute the same layers. A projection whose input can be
// computed in parts, by heads or by columns, is cut by its columns; the sum of the partial results
// needs one all_reduce, the projections before it none. What cannot be cut is computed by all ranks
// of the group, except for large projections, whose rows are cut and gathered. A mixture of experts
// is cut by the columns of each expert, or by experts: each rank then has the matrices of some, and
// computes zeros for tokens that choose others (ops/projections/expert_linear.h). What cuts more
// weights is done, or else what leaves the largest rank fewer of them, or else columns.
// Pipeline parallel: each group computes some consecutive layers and sends its activations on.
// Rank r is number r % tp of group r / tp. Rank 0 gets the results.
//
// Tensor parallel results differ from those of one machine by the rounding of sums. They do not
// depend on whether ranks are threads or processes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"

namespace weft {

struct Sharding {
  int tp = 1;  // ranks of a group
  int pp = 1;  // groups
  // Projections with fewer elements are not worth an exchange, with fewer than 64 times as many not
  // one of their own. 0: all are.
  std::int64_t min_elems = 1 << 14;

  int ranks() const { return tp * pp; }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};
inline constexpr int kMaxRanks = 256;

// "tp=2", "pp=4", "tp=2,pp=2". Throws ValueError for anything else, and for more ranks than
// kMaxRanks. If the environment variable WEFT_SHARD_ALL is 1, min_elems is 0.
Sharding parse_sharding(std::string_view text);
std::string to_string(const Sharding& sharding);
// Throws ValueError unless the sharding has as many ranks as a launcher started.
void check_number_of_ranks(const Sharding& sharding, int started);

// Elements begin .. end - 1 of a dimension.
struct AxisRange {
  int axis = 0;
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const AxisRange&, const AxisRange&) = default;
};

// A weight of a rank's graph that is a part of a weight of the whole one.
struct WeightPart {
  std::string name;    // "blk.0.attn_q.weight[0:128]", "blk.0.ffn_down.weight[0:64,256:512]"
  std::string source;  // "blk.0.attn_q.weight"
  std::vector<AxisRange> ranges;  // of dimensions of the source, each once, the slowest first
  friend bool operator==(const WeightPart&, const WeightPart&) = default;
};

// An op of which every rank of a group computes all nodes, with all of their weights and states:
// it does not say how it is divided (OpCuts), or says heads, but cannot be divided here.
struct UndividedOp {
  std::string op;  // "delta_rule"
  bool says_cuts = false;
  std::int64_t n_nodes = 0;
  std::string first;  // path of one of them
  friend bool operator==(const UndividedOp&, const UndividedOp&) = default;
};
// "every rank of tp=2 computes all of delta_rule (18 nodes, such as 'blk.0.delta_rule'): the op
// does not say how it is divided"
std::string to_string(const UndividedOp& op, const Sharding& sharding);

struct RankGraph {
  Graph graph;
  std::vector<WeightPart> parts;       // those that its weights are
  std::vector<std::string> results;    // outputs of the whole graph that this rank has
  std::vector<UndividedOp> undivided;  // those of its group, none if that is one rank
};

// The part of a graph that has not been fused. Throws ValueError if the sharding does not divide
// its heads or layers: "tp=3 does not divide the 4 heads and 2 key/value heads of 'blk.0.attn'
// (possible: tp=2)"; UnsupportedError if a value that is not f32 would have to be sent. REQUIRES: 0
// <= rank < sharding.ranks().
RankGraph shard(const Graph& graph, const Sharding& sharding, int rank);

}  // namespace weft
