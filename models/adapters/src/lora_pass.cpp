#include <map>
#include <tuple>

#include "weft/adapters/lora.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/graph/pass.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

#include "adapted_use.h"
#include "lora_names.h"

namespace weft {
namespace {

using namespace adapters;

class LoraPass {
 public:
  LoraPass(const Graph& graph, const Lora& lora, std::size_t index)
      : graph_(graph), lora_(lora), index_(index), rewriter_(graph, "lora") {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      rewriter_.copy(id);
      const Node& node = graph_[id];
      if (is_product(node)) {
        if (const LowRank* low = low_rank_of(node.inputs[1])) adapt_product(id, *low);
      } else if (is_lookup(node)) {
        if (const LowRank* low = low_rank_of(node.inputs[0])) adapt_lookup(id, *low);
      }
    }
    return rewriter_.finish();
  }

 private:
  const LowRank* low_rank_of(NodeId weight) const {
    if (graph_[weight].kind != NodeKind::weight) return nullptr;
    const auto low = lora_.weights().find(graph_[weight].path);
    return low == lora_.weights().end() ? nullptr : &low->second;
  }

  // y + u (s (v x))
  void adapt_product(NodeId id, const LowRank& low) {
    const Node& node = graph_[id];
    const NodeId ids = chosen_matrices(node).ids;
    const std::string& weight = graph_[node.inputs[1]].path;
    const auto times = [&](Tensor x, Tensor w, std::string_view name) {
      std::vector<Tensor> in{x, w};
      if (ids != kNoNode) in.push_back(rewriter_(ids));
      return insert(*node.op, in, node.attrs, id, name);
    };
    const Tensor inner = times(rewriter_(node.inputs[0]), matrix(weight, low.v, kV), "v");
    add_to(id, times(scaled(inner, id, low), matrix(weight, low.u, kU), "u"));
  }

  // y + (s u[ids]) v
  void adapt_lookup(NodeId id, const LowRank& low) {
    const Node& node = graph_[id];
    const std::string& weight = graph_[node.inputs[0]].path;
    const Tensor rows =
        insert(kGetRows, {matrix(weight, low.u, kU), rewriter_(node.inputs[1])}, {}, id, "u");
    const Tensor v = matrix(weight, low.v_transposed, kVTransposed);
    add_to(id, insert(kLinear, {scaled(rows, id, low), v}, {}, id, "v"));
  }

  void add_to(NodeId id, Tensor change) {
    const Tensor sum = insert(kAdd, {rewriter_(id), change}, {}, id, "sum");
    rewriter_.map_to(id, sum);
  }

  // x [T, ..], each row multiplied by the scale of its token.
  Tensor scaled(Tensor x, NodeId id, const LowRank& low) {
    const Shape shape = x.shape();
    const Tensor whole = insert(kReshape, {x}, ReshapeAttrs{shape.cols()}, id, "rows");
    const Tensor y = insert(kScaleHeads, {whole, scale_of(shape[0], id, low.factor)}, {}, id, "s");
    const std::int64_t inner = shape.n_dims() == 2 ? 0 : shape.last();
    return insert(kReshape, {y}, ReshapeAttrs{inner}, id, "scaled");
  }

  // One scale per row, for rows that are the tokens of the step, or those with logits.
  Tensor scale_of(const Dim& rows, NodeId id, float factor) {
    const Node &tokens = input("tokens"), &out_rows = input("out_rows");
    const bool all = rows == tokens.spec.shape[0];
    if (!all && rows != out_rows.spec.shape[0])
      fail<UnsupportedError>("{}: adapts a weight of '{}', whose rows are not tokens",
                             printable_path(lora_.path()), graph_[id].path);
    Tensor& known = scales_[{all, factor}];
    if (known) return known;
    const std::string name = lora_scale_name(index_);
    if (!scale_) scale_ = new_graph().input(name, {f32, {tokens.spec.shape[0], 1}});
    known = scale_;
    if (factor != 1)
      known = rewriter_.insert(kScale, {{known}}, ScaleAttrs{factor}, name + ".factor",
                               graph_[id].where);
    if (!all)
      known = rewriter_.insert(kGetRows, {{known, rewriter_(graph_.find("out_rows"))}}, {},
                               name + ".out_rows", graph_[id].where);
    return known;
  }

  // REQUIRES: the inputs were copied. Builder code adds them first.
  Graph& new_graph() const { return rewriter_(graph_.find("tokens")).graph(); }
  const Node& input(std::string_view name) const { return graph_[graph_.find(name)]; }

  Tensor matrix(std::string_view weight, const LowRankMatrix& m, std::string_view which) {
    return new_graph().weight(matrix_name(weight, index_, which), {m.tensor->spec.dtype, m.shape});
  }

  // A node beside old node `id`: "blk.0.attn_q.lora.0.v".
  Tensor insert(const OpDef& op, const std::vector<Tensor>& inputs, Attrs attrs, NodeId id,
                std::string_view name) {
    return rewriter_.insert(op, inputs, std::move(attrs),
                            matrix_name(graph_[id].path, index_, name), graph_[id].where);
  }

  const Graph& graph_;
  const Lora& lora_;
  const std::size_t index_;
  Rewriter rewriter_;
  Tensor scale_;                                      // the input
  std::map<std::tuple<bool, float>, Tensor> scales_;  // by whether of all tokens, and factor
};

}  // namespace

std::string lora_scale_name(std::size_t index) {
  return fmt::format("lora.{}.scale", index);
}

Graph add_lora(const Graph& graph, const Lora& lora, std::size_t index) {
  return LoraPass(graph, lora, index).run();
}

}  // namespace weft
