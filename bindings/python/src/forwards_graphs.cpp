// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "graphs.h"

namespace weft_python {
namespace {

py::str ops_json() {
  Text json;
  call([&](weft_error** error) { return weft_ops_json(json.out(), error); });
  return json.str();
}

std::unique_ptr<Graph> graph_open() {
  auto graph = std::make_unique<Graph>();
  call([&](weft_error** error) { return weft_graph_open(graph->out(), error); });
  return graph;
}

void graph_set_line(const Graph& graph, const py::handle& file, std::uint32_t line) {
  const auto c_file = c_text_of(file, "file");
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) {
    return weft_graph_set_line(c_graph, c_file.c_str(), line, error);
  });
}

weft_tensor_id graph_input(const Graph& graph, const py::handle& name, const py::handle& dtype,
                           const Dims& dims) {
  const auto c_name = c_text_of(name, "name");
  const auto c_dtype = c_text_of(dtype, "dtype");
  const auto c_dims = dims_of(dims);
  weft_graph* const c_graph = graph.get();
  weft_tensor_id tensor = 0;
  call([&](weft_error** error) {
    return weft_graph_input(c_graph, c_name.c_str(), c_dtype.c_str(), c_dims.data(), c_dims.size(),
                            &tensor, error);
  });
  return tensor;
}

weft_tensor_id graph_weight(const Graph& graph, const py::handle& name, const py::handle& dtype,
                            const Dims& dims) {
  const auto c_name = c_text_of(name, "name");
  const auto c_dtype = c_text_of(dtype, "dtype");
  const auto c_dims = dims_of(dims);
  weft_graph* const c_graph = graph.get();
  weft_tensor_id tensor = 0;
  call([&](weft_error** error) {
    return weft_graph_weight(c_graph, c_name.c_str(), c_dtype.c_str(), c_dims.data(), c_dims.size(),
                             &tensor, error);
  });
  return tensor;
}

weft_tensor_id graph_state(const Graph& graph, const py::handle& name, const py::handle& dtype,
                           const Dims& dims) {
  const auto c_name = c_text_of(name, "name");
  const auto c_dtype = c_text_of(dtype, "dtype");
  const auto c_dims = dims_of(dims);
  weft_graph* const c_graph = graph.get();
  weft_tensor_id tensor = 0;
  call([&](weft_error** error) {
    return weft_graph_state(c_graph, c_name.c_str(), c_dtype.c_str(), c_dims.data(), c_dims.size(),
                            &tensor, error);
  });
  return tensor;
}

weft_tensor_id graph_op(const Graph& graph, const py::handle& op,
                        const std::vector<weft_tensor_id>& inputs, const py::dict& attributes) {
  const auto c_op = c_text_of(op, "op");
  const Values c_attributes(attributes);
  weft_graph* const c_graph = graph.get();
  weft_tensor_id tensor = 0;
  call([&](weft_error** error) {
    return weft_graph_op(c_graph, c_op.c_str(), inputs.data(), inputs.size(), c_attributes.data(),
                         c_attributes.size(), &tensor, error);
  });
  return tensor;
}

void graph_set_name(const Graph& graph, weft_tensor_id tensor, const py::handle& name) {
  const auto c_name = c_text_of(name, "name");
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) {
    return weft_graph_set_name(c_graph, tensor, c_name.c_str(), error);
  });
}

void graph_push_scope(const Graph& graph, const py::handle& prefix) {
  const auto c_prefix = c_text_of(prefix, "prefix");
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) { return weft_graph_push_scope(c_graph, c_prefix.c_str(), error); });
}

void graph_pop_scope(const Graph& graph) {
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) { return weft_graph_pop_scope(c_graph, error); });
}

void graph_output(const Graph& graph, const py::handle& name, weft_tensor_id tensor) {
  const auto c_name = c_text_of(name, "name");
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) {
    return weft_graph_output(c_graph, c_name.c_str(), tensor, error);
  });
}

void graph_check(const Graph& graph) {
  weft_graph* const c_graph = graph.get();
  call([&](weft_error** error) { return weft_graph_check(c_graph, error); });
}

std::int32_t graph_get_size(const Graph& graph) {
  weft_graph* const c_graph = graph.get();
  std::int32_t n_nodes = 0;
  call([&](weft_error** error) { return weft_graph_get_size(c_graph, &n_nodes, error); });
  return n_nodes;
}

py::str graph_json(const Graph& graph) {
  weft_graph* const c_graph = graph.get();
  Text json;
  call([&](weft_error** error) { return weft_graph_json(c_graph, json.out(), error); });
  return json.str();
}

py::str graph_dot(const Graph& graph) {
  weft_graph* const c_graph = graph.get();
  Text dot;
  call([&](weft_error** error) { return weft_graph_dot(c_graph, dot.out(), error); });
  return dot.str();
}

py::str dot_svg(const py::handle& dot) {
  const std::string c_dot = bytes_of(dot, "dot");
  Text svg;
  call([&](weft_error** error) {
    return weft_dot_svg(c_dot.data(), c_dot.size(), svg.out(), error);
  });
  return svg.str();
}

std::unique_ptr<Graph> model_graph(const Model& model, std::int64_t n_tokens) {
  weft_model* const c_model = model.get();
  auto graph = std::make_unique<Graph>();
  call(
      [&](weft_error** error) { return weft_model_graph(c_model, n_tokens, graph->out(), error); });
  return graph;
}

void computation_run(const Computation& computation, const std::vector<std::int64_t>& extents) {
  weft_computation* const c_computation = computation.get();
  call([&](weft_error** error) {
    return weft_computation_run(c_computation, extents.data(), extents.size(), error);
  });
}

void computation_cancel(const Computation& computation) {
  weft_computation* const c_computation = computation.get();
  weft_computation_cancel(c_computation);
}

py::tuple computation_verify(const Computation& computation,
                             const std::vector<std::int64_t>& extents) {
  weft_computation* const c_computation = computation.get();
  std::int32_t passed = 0;
  Text json;
  call([&](weft_error** error) {
    return weft_computation_verify(c_computation, extents.data(), extents.size(), &passed,
                                   json.out(), error);
  });
  return py::make_tuple(passed != 0, json.str());
}

}  // namespace

void add_forwards_of_graphs(py::module_& m) {
  m.def("ops_json", &ops_json);
  m.def("dot_svg", &dot_svg);
  py::class_<Graph>(m.attr("Graph"))
      .def_static("open", &graph_open)
      .def("set_line", &graph_set_line)
      .def("input", &graph_input)
      .def("weight", &graph_weight)
      .def("state", &graph_state)
      .def("op", &graph_op)
      .def("set_name", &graph_set_name)
      .def("push_scope", &graph_push_scope)
      .def("pop_scope", &graph_pop_scope)
      .def("output", &graph_output)
      .def("check", &graph_check)
      .def("size", &graph_get_size)
      .def("json", &graph_json)
      .def("dot", &graph_dot)
      .def_static("of_model", &model_graph);
  py::class_<Computation>(m.attr("Computation"))
      .def("run", &computation_run)
      .def("cancel", &computation_cancel)
      .def("verify", &computation_verify);
}

}  // namespace weft_python
