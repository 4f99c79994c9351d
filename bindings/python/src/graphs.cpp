// Graphs, and their computations.
#include "graphs.h"

#include <cstring>

namespace weft_python {

Values::Values(const py::dict& given) {
  for (const auto& [key, x] : given) {
    weft_value v{};
    v.name = texts_.emplace_back(py::cast<std::string>(key)).c_str();
    if (PyBool_Check(x.ptr())) {
      v.kind = WEFT_VALUE_BOOL, v.integer = x.ptr() == Py_True;
    } else if (PyIndex_Check(x.ptr())) {
      v.kind = WEFT_VALUE_INTEGER, v.integer = integer_of(x, v.name);
    } else if (py::isinstance<py::str>(x)) {
      v.kind = WEFT_VALUE_TEXT, v.text = texts_.emplace_back(c_text_of(x, v.name)).c_str();
    } else {
      v.kind = WEFT_VALUE_NUMBER, v.number = number_of(x, v.name);
    }
    values_.push_back(v);
  }
}

py::dict dict_of(const weft_value* values, std::size_t n) {
  py::dict all;
  for (const weft_value* v = values; v != values + n; ++v) {
    const py::str name(v->name);
    if (v->kind == WEFT_VALUE_BOOL) {
      all[name] = py::bool_(v->integer != 0);
    } else if (v->kind == WEFT_VALUE_INTEGER) {
      all[name] = py::int_(v->integer);
    } else if (v->kind == WEFT_VALUE_NUMBER) {
      all[name] = py::float_(v->number);
    } else {
      all[name] = py::str(v->text);
    }
  }
  return all;
}

std::vector<weft_dim> dims_of(const Dims& shape) {
  std::vector<weft_dim> dims;
  for (const auto& [bound, variable] : shape) dims.push_back({bound, variable, 0});
  return dims;
}

py::dtype numpy_type(const std::string& dtype) {
  if (dtype == "F32") return py::dtype("float32");
  if (dtype == "I32") return py::dtype("int32");
  if (dtype == "F16") return py::dtype("float16");
  raise("dtype", "numpy has no type for " + dtype);
}

py::array array_of(const weft_array& array, const py::handle& base) {
  const py::dtype type = numpy_type(array.dtype);
  std::vector<py::ssize_t> shape(array.dims, array.dims + array.rank), strides(shape.size());
  py::ssize_t stride = type.itemsize();
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = i == 0 && shape.size() > 1 ? array.row_stride : stride;
    stride *= shape[i];
  }
  return py::array(type, std::move(shape), std::move(strides), array.data, base);
}

namespace {

std::int32_t add_variable(const Graph& graph, const std::string& name, std::int64_t bound) {
  weft_graph* const g = graph.get();
  return given_by<weft_dim>([&](weft_dim* dim, weft_error** error) {
           return weft_graph_variable(g, name.c_str(), bound, dim, error);
         })
      .variable;
}

// Path, type, and the dimensions as pairs of a bound and a variable.
py::tuple tensor_info(const Graph& graph, weft_tensor_id id) {
  weft_tensor_info i{};
  i.struct_size = sizeof i;
  weft_graph* const g = graph.get();
  call([&](weft_error** error) { return weft_graph_get_tensor(g, id, &i, error); });
  Dims shape;
  for (std::int32_t d = 0; d < i.rank; ++d) shape.emplace_back(i.dims[d].bound, i.dims[d].variable);
  return py::make_tuple(i.path, i.dtype, shape);
}

std::unique_ptr<Computation> open_computation(const Graph& graph, const py::dict& given) {
  auto computation = std::make_unique<Computation>();
  weft_computation_options o;
  weft_computation_options_init(&o, sizeof o);
  o.poll = poll_signals;
  Options reader(given);
  take_members(reader, o);
  reader.finish("run()");
  weft_graph* const g = graph.get();
  call([&](weft_error** error) { return weft_computation_open(g, &o, computation->out(), error); });
  return computation;
}

// The rows come from the front of an array at its bounds.
void set_input(const Computation& computation, const std::string& name, const py::buffer& given) {
  const py::buffer_info info = given.request();
  weft_computation* const c = computation.get();
  void* data = nullptr;
  std::size_t size = 0;
  call([&](weft_error** error) {
    return weft_computation_get_input(c, name.c_str(), &data, &size, error);
  });
  const auto n = static_cast<std::size_t>(info.size * info.itemsize);
  if (n > size) raise("shape", "input '" + name + "' is larger than its bounds");
  if (n > 0) std::memcpy(data, info.ptr, n);
}

void set_weight(const Computation& computation, const std::string& name, const py::buffer& given) {
  const py::buffer_info info = given.request();
  weft_computation* const c = computation.get();
  call([&](weft_error** error) {
    return weft_computation_set_weight(c, name.c_str(), info.ptr,
                                       static_cast<std::size_t>(info.size * info.itemsize), error);
  });
}

using GetArray = weft_status (*)(weft_computation*, const char*, weft_array*, weft_error**);

// A copy of an output, or of another node.
template <GetArray kGet>
py::array array_by(const Computation& computation, const std::string& name) {
  weft_computation* const c = computation.get();
  const auto array = given_by<weft_array>(
      [&](weft_array* out, weft_error** error) { return kGet(c, name.c_str(), out, error); });
  return array_of(array, py::none()).attr("copy")();
}

// The memory of a state, which lives as long as the computation.
py::array_t<std::uint8_t> memory_of_state(const py::object& owner, const std::string& name) {
  weft_computation* const c = py::cast<const Computation&>(owner).get();
  void* data = nullptr;
  std::size_t size = 0;
  call([&](weft_error** error) {
    return weft_computation_get_state(c, name.c_str(), &data, &size, error);
  });
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(size), static_cast<std::uint8_t*>(data),
                                   owner);
}

py::tuple plan_of(const Computation& computation) {
  weft_computation* const c = computation.get();
  Text json, svg;
  std::uint64_t hash = 0;
  call([&](weft_error** error) { return weft_computation_plan_json(c, json.out(), error); });
  call([&](weft_error** error) { return weft_computation_plan_svg(c, svg.out(), error); });
  call([&](weft_error** error) { return weft_computation_get_plan_hash(c, &hash, error); });
  return py::make_tuple(json.str(), svg.str(), hash);
}

}  // namespace

void add_graphs(py::module_& m) {
  py::class_<Graph>(m.attr("Graph")).def("variable", &add_variable).def("info", &tensor_info);
  py::class_<Computation>(m.attr("Computation"))
      .def_static("open", &open_computation)
      .def("set_input", &set_input)
      .def("set_weight", &set_weight)
      .def("output", &array_by<weft_computation_get_output>)
      .def("tensor", &array_by<weft_computation_get_tensor>)
      .def("state", &memory_of_state)
      .def("plan", &plan_of);
}

}  // namespace weft_python
