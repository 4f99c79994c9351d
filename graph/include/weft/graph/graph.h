#pragma once
// The graph: nodes in topological order. A node is immutable and has a stable path and the line of
// builder code that added it. Not synchronized: one thread builds a graph, then any number of
// threads may read it.

#include <cstdint>
#include <deque>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/graph/attrs.h"
#include "weft/graph/node_users.h"
#include "weft/graph/op_def.h"
#include "weft/graph/per_node.h"
#include "weft/graph/tensor.h"

namespace weft {

enum class NodeKind : std::uint8_t {
  input,   // data that comes with every step (token ids, positions)
  weight,  // constant, named as in the model file
  state,   // memory that lives as long as the session (KV cache)
  op,
};
std::string_view to_string(NodeKind kind);

struct Node {
  NodeKind kind = NodeKind::op;
  const OpDef* op = nullptr;   // null unless kind == op
  std::vector<NodeId> inputs;  // kNoNode if an optional input is absent
  Attrs attrs;
  TensorSpec spec;      // the output's
  std::string path;     // "blk.3.attn_q"; weights keep their GGUF names
  SourceLine where;     // the builder's line
  std::string made_by;  // the passes that created and replaced it, such as
                        // "fuse_qkv+quantize_activations"; empty for builder code
};

// Matrices of a node that are chosen by ids, as OpInput::use and chosen_by of its op say. kNoNode:
// it has none.
struct ChosenMatrices {
  NodeId weight = kNoNode, ids = kNoNode;
};
ChosenMatrices chosen_matrices(const Node& node);

// How a layer chooses its experts: by the largest products of a weight with an input that the
// experts also read. Paths of nodes.
struct Router {
  std::string ids;     // [T, K], the chosen experts
  std::string weight;  // [X, D]
  std::string norm;    // weight [D] by which that input was scaled
};

struct Variable {
  std::string name;  // "T"
  std::int64_t bound = 0;
};

class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A dimension that varies from step to step, up to `bound`. The same name gives the same
  // variable. Throws ValueError if the bounds differ.
  Dim variable(std::string_view name, std::int64_t bound);

  Tensor input(std::string_view name, TensorSpec spec,
               SourceLine where = std::source_location::current());
  Tensor weight(std::string_view name, TensorSpec spec,
                SourceLine where = std::source_location::current());
  Tensor state(std::string_view name, TensorSpec spec,
               SourceLine where = std::source_location::current());

  // Applies an op. The node's path is the scope plus `name` (default: the op's name). If the path
  // is taken, "_1", "_2", ... is appended, so that paths are unique and stable. Throws ShapeError,
  // DTypeError or ValueError: "rms_norm 'blk.3.attn_norm': w must be [4096], got [4097]
  // (models/arch/src/pages/llama.cpp:41)".
  Tensor add(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, SourceLine where,
             std::string_view name = {});
  // The same with a full path instead of scope and name: for nodes named after a weight.
  Tensor add_at(std::string_view path, const OpDef& op, std::span<const Tensor> inputs, Attrs attrs,
                SourceLine where);

  // Says that experts are chosen in this way, for those who want to guess them ahead of time.
  // Passes keep it. REQUIRES: nodes of this graph, of which `weight` and `norm` are weights.
  void add_router(Tensor ids, Tensor weight, Tensor norm);
  // Null: the builder did not say how `ids` are chosen.
  const Router* router(NodeId ids) const;

  // Marks a result of the graph ("logits"). A graph without outputs does not pass check().
  void output(std::string_view name, Tensor t);

  std::int32_t size() const { return static_cast<std::int32_t>(nodes_.size()); }
  const Node& operator[](NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Tensor tensor(NodeId id) { return {this, id}; }
  NodeId find(std::string_view path) const;  // kNoNode if no node has this path

  struct Output {
    std::string name;
    NodeId node;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Variable>& variables() const { return variables_; }
  Extents bounds() const;  // every variable at its bound

  // The specs of a node's inputs. The spec of an absent optional input is not present().
  std::vector<TensorSpec> input_specs(const Node& node) const;
  // Ids of the nodes that use each node.
  NodeUsers users() const;

  // Adds a path prefix to nodes that are added during its lifetime: Scope s(graph, "blk.3").
  class Scope {
   public:
    Scope(Graph& graph, std::string_view prefix);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    std::size_t old_size_;
  };

 private:
  friend class Tensor;
  friend class Rewriter;
  Tensor insert(Node node);
  std::string unique(std::string path) const;
  void rename(NodeId id, std::string_view name);

  std::deque<Node> nodes_;  // a deque: references stay valid while the graph grows
  std::unordered_map<std::string, NodeId> by_path_;
  std::vector<Output> outputs_;
  std::vector<Variable> variables_;
  std::vector<Router> routers_;
  std::string scope_;
};

// Checks the whole graph before it is planned: specs agree with what each op infers, inputs come
// before their users, paths are unique, outputs exist, only states are written, and a state is not
// read through an older handle (or a view of one) after it was written. Throws Error naming the
// first bad node.
void check(const Graph& graph);

}  // namespace weft
