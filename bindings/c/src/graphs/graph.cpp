#include "weft/graph/graph.h"

#include <algorithm>

#include "weft/base/intern.h"
#include "weft/draw/dot.h"
#include "weft/draw/graphviz.h"
#include "weft/ops/apply_op.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "border/objects.h"
#include "graphs/graph_objects.h"

namespace weft::c_api {
namespace {

Json json_of(const AttrValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json attrs_json(const Attrs& attrs) {
  Json object = Json::object();
  attrs.for_each([&](std::string_view name, const AttrValue& value) {
    object[std::string(name)] = json_of(value);
  });
  return object;
}

// A custom op keeps all that it was given as one object (custom_op.cpp).
Json attrs_json(const Node& node) {
  const Json object = attrs_json(node.attrs);
  if (!node.op || !node.op->custom) return object;
  return Json::parse(object.at("values").get<std::string>());
}

Json op_json(const OpSignature& op) {
  Json inputs = Json::array();
  for (const OpInput& input : op.inputs)
    inputs.push_back({{"name", input.name}, {"optional", input.optional}});
  return {{"name", op.name},
          {"inputs", inputs},
          {"variadic", op.variadic},
          {"attributes", attrs_json(op.attrs->make({}))}};
}

Json node_json(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  Json shape = Json::array();
  for (const Dim& dim : node.spec.shape) {
    if (dim.varies()) {
      shape.push_back(graph.variables()[static_cast<std::size_t>(dim.variable)].name);
    } else {
      shape.push_back(dim.bound);
    }
  }
  return {{"id", id},
          {"path", node.path},
          {"kind", to_string(node.kind)},
          {"op", node.op ? node.op->name : ""},
          {"inputs", node.inputs},
          {"attributes", attrs_json(node)},
          {"dtype", node.spec.dtype.name()},
          {"shape", shape},
          {"where", to_string(node.where)},
          {"made_by", node.made_by}};
}

Json graph_json(const Graph& graph) {
  Json variables = Json::array(), nodes = Json::array(), outputs = Json::array();
  for (const auto& variable : graph.variables())
    variables.push_back({{"name", variable.name}, {"bound", variable.bound}});
  for (NodeId id = 0; id < graph.size(); ++id) nodes.push_back(node_json(graph, id));
  for (const Graph::Output& output : graph.outputs())
    outputs.push_back({{"name", output.name}, {"node", output.node}});
  return {{"variables", std::move(variables)},
          {"nodes", std::move(nodes)},
          {"outputs", std::move(outputs)}};
}

enum class Leaf { input, weight, state };

Tensor add_leaf(GraphObject& g, Leaf kind, const char* name, const char* dtype,
                const weft_dim* dims, std::size_t rank) {
  const std::string_view path = required_name(name, "name");
  const TensorSpec spec{dtype_of(dtype), shape_of(dims, rank, *g.graph)};
  switch (kind) {
    case Leaf::input:
      return g.graph->input(path, spec, g.where);
    case Leaf::weight:
      return g.graph->weight(path, spec, g.where);
    case Leaf::state:
      return g.graph->state(path, spec, g.where);
  }
  return {};
}

weft_status leaf(weft_graph* graph, Leaf kind, const char* name, const char* dtype,
                 const weft_dim* dims, size_t rank, weft_tensor_id* tensor, weft_error** error) {
  return call(error, [&] {
    required(tensor, "tensor");
    const UsedGraph g(graph);
    *tensor = add_leaf(*g.object(), kind, name, dtype, dims, rank).id();
  });
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_ops_json(weft_text* json, weft_error** error) {
  return call(error, [&] {
    Json all = Json::array();
    for (const OpSignature& op : op_signatures()) all.push_back(op_json(op));
    write_text(json, json_text(all));
  });
}

weft_status weft_graph_open(weft_graph** graph, weft_error** error) {
  return call(error, [&] {
    required(graph, "graph");
    *graph = handle_of<weft_graph>(std::make_shared<GraphObject>());
  });
}

weft_status weft_graph_free(weft_graph* graph) {
  return free_handle<GraphObject>(graph);
}

weft_status weft_graph_set_line(weft_graph* graph, const char* file, uint32_t line,
                                weft_error** error) {
  return call(error, [&] {
    const std::string_view name = required_name(file, "file");
    UsedGraph(graph)->where = SourceLine(intern(name), line);
  });
}

weft_status weft_graph_variable(weft_graph* graph, const char* name, int64_t bound, weft_dim* dim,
                                weft_error** error) {
  return call(error, [&] {
    required(dim, "dim");
    if (bound < 1) fail<ValueError>("`bound` must be at least 1, got {}", bound);
    const Dim made = (*UsedGraph(graph)).variable(required_name(name, "name"), bound);
    *dim = {.bound = made.bound, .variable = made.variable + 1};
  });
}

weft_status weft_graph_input(weft_graph* graph, const char* name, const char* dtype,
                             const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                             weft_error** error) {
  return leaf(graph, Leaf::input, name, dtype, dims, rank, tensor, error);
}

weft_status weft_graph_weight(weft_graph* graph, const char* name, const char* dtype,
                              const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                              weft_error** error) {
  return leaf(graph, Leaf::weight, name, dtype, dims, rank, tensor, error);
}

weft_status weft_graph_state(weft_graph* graph, const char* name, const char* dtype,
                             const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                             weft_error** error) {
  return leaf(graph, Leaf::state, name, dtype, dims, rank, tensor, error);
}

weft_status weft_graph_op(weft_graph* graph, const char* op, const weft_tensor_id* inputs,
                          size_t n_inputs, const weft_value* attributes, size_t n_attributes,
                          weft_tensor_id* tensor, weft_error** error) {
  return call(error, [&] {
    required(tensor, "tensor");
    const UsedGraph g(graph);
    const auto in = g->tensors(inputs, n_inputs);
    *tensor = apply(*g.object(), op, in, attrs_of(attributes, n_attributes)).id();
  });
}

weft_status weft_graph_set_name(weft_graph* graph, weft_tensor_id tensor, const char* name,
                                weft_error** error) {
  return call(error, [&] {
    const UsedGraph g(graph);
    const Tensor t = present_tensor(*g.object(), tensor, "tensor");
    (void)t.named(required_name(name, "name"));
  });
}

weft_status weft_graph_push_scope(weft_graph* graph, const char* prefix, weft_error** error) {
  return call(error, [&] {
    const UsedGraph g(graph);
    g->scopes.push_back(std::make_unique<Graph::Scope>(*g, required_name(prefix, "prefix")));
  });
}

weft_status weft_graph_pop_scope(weft_graph* graph, weft_error** error) {
  return call(error, [&] {
    const UsedGraph g(graph);
    if (g->scopes.empty()) fail<ValueError>("no scope is open");
    g->scopes.pop_back();
  });
}

weft_status weft_graph_output(weft_graph* graph, const char* name, weft_tensor_id tensor,
                              weft_error** error) {
  return call(error, [&] {
    const UsedGraph g(graph);
    (*g).output(required_name(name, "name"), present_tensor(*g.object(), tensor, "tensor"));
  });
}

weft_status weft_graph_check(weft_graph* graph, weft_error** error) {
  return call(error, [&] { check(*UsedGraph(graph)); });
}

weft_status weft_graph_get_size(weft_graph* graph, int32_t* n_nodes, weft_error** error) {
  return call(error, [&] { required(n_nodes, "n_nodes") = (*UsedGraph(graph)).size(); });
}

weft_status weft_graph_get_tensor(weft_graph* graph, weft_tensor_id tensor, weft_tensor_info* info,
                                  weft_error** error) {
  return call(error, [&] {
    const UsedGraph g(graph);
    const Node& node = (*g)[present_tensor(*g.object(), tensor, "tensor").id()];
    weft_tensor_info result{.rank = node.spec.shape.n_dims(),
                            .kind = to_string(node.kind).data(),
                            .op = node.op ? node.op->name.data() : "",
                            .path = intern(node.path).data(),
                            .dtype = node.spec.dtype.name().data()};
    std::ranges::copy(dims_of(node.spec.shape), result.dims);
    write_struct(info, result, "weft_tensor_info");
  });
}

weft_status weft_graph_json(weft_graph* graph, weft_text* json, weft_error** error) {
  return call(error, [&] { write_text(json, json_text(graph_json(*UsedGraph(graph)))); });
}

weft_status weft_graph_dot(weft_graph* graph, weft_text* dot, weft_error** error) {
  return call(error, [&] { write_text(dot, draw::to_dot(*UsedGraph(graph))); });
}

weft_status weft_dot_svg(const char* dot, size_t size, weft_text* svg, weft_error** error) {
  return call(error, [&] {
    required(svg, "svg");
    write_text(svg, draw::render(text(dot, size, "dot"), "svg"));
  });
}

weft_status weft_model_graph(weft_model* model, int64_t n_tokens, weft_graph** graph,
                             weft_error** error) {
  return call(error, [&] {
    required(graph, "graph");
    const auto m = pin<ModelObject>(model);
    check_between(n_tokens, 1, kMaxPrefillWidth, "n_tokens");
    PlannedModel planned =
        plan_model(*m->computing(), {.prefill_width = n_tokens,
                                     .passes_off = {"all"},
                                     .embeddings = !m->computing()->facts().has_output});
    *graph = handle_of<weft_graph>(
        std::make_shared<GraphObject>(std::move(planned.graphs[planned.n_step_plans - 1])));
  });
}
