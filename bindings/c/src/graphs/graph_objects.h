#pragma once
// Graphs as handles, and what is common to the functions that build them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/weft.h"

#include "border/gate.h"
#include "border/handles.h"

namespace weft::c_api {

// A handle for one callback on one thread. It is stale when the callback has ended, also by a
// longjmp: then a caller's frame is further out on the stack.
class CallbackScope {
 public:
  CallbackScope() : thread_(std::this_thread::get_id()), frame_(__builtin_frame_address(0)) {}
  // Throws HandleError outside the callback.
  void check(Kind kind) const;

 private:
  std::thread::id thread_;
  const void* frame_;
};

struct GraphObject : Object {
  static constexpr Kind kKind = Kind::graph;
  GraphObject() : Object(kKind), own(std::in_place), graph(&*own) {}
  explicit GraphObject(Graph&& made) : Object(kKind), own(std::move(made)), graph(&*own) {}
  // The graph of a builder, for this callback. The handle is freed before the graph ends.
  explicit GraphObject(Graph* borrowed) : Object(kKind), graph(borrowed), scope(std::in_place) {}

  GraphObject& inner() { return *this; }
  // No tensor for -1. Throws ValueError for nodes that do not exist.
  Tensor tensor(weft_tensor_id id, std::string_view name) const;
  std::vector<Tensor> tensors(const weft_tensor_id* ids, std::size_t n) const;

  Gate gate{"graph", Gate::Threads::none};
  std::optional<Graph> own;
  Graph* const graph;
  const std::optional<CallbackScope> scope;           // present if it is borrowed
  std::vector<std::unique_ptr<Graph::Scope>> scopes;  // the last one ends first
  SourceLine where;
};

// Throws ValueError for -1, too.
Tensor present_tensor(const GraphObject& graph, weft_tensor_id id, std::string_view name);

class UsedGraph : public Used<GraphObject> {
 public:
  explicit UsedGraph(const weft_graph* handle) : Used(handle) {
    if (object()->scope) object()->scope->check(Kind::graph);
  }
  Graph& operator*() const { return *object()->graph; }
};

// Throws DTypeError listing the known names.
DType dtype_of(const char* name);
// Throws ValueError for more than four dimensions, and like Shape.
Shape shape_of(const weft_dim* dims, std::size_t rank, const Graph& graph);
Shape fixed_shape(const std::int64_t* dims, std::size_t rank);
std::vector<weft_dim> dims_of(const Shape& shape);

// A value of C whose texts are those of `name` and `text`, which end with a NUL.
weft_value value_of(const char* name, const AttrValue& value, const char* text);
// Texts live as long as `values`. Throws like named_values().
std::vector<NamedAttr> attrs_of(const weft_value* values, std::size_t n);

weft_array array_of(const View& view);

// The op that weft_register_op() registered; null if there is none of this name.
const OpDef* find_custom_op(std::string_view name);
Attrs custom_attrs(const OpDef& op, std::span<const NamedAttr> values);

// weft_graph_op() for any graph.
Tensor apply(GraphObject& graph, const char* op, std::span<const Tensor> inputs,
             std::span<const NamedAttr> attrs);

}  // namespace weft::c_api
