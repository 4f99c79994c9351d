// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "graphs.h"

namespace weft_python {
namespace {

std::int64_t config_integer(const Keys& config, const py::handle& key, std::int64_t min,
                            std::int64_t max, std::int64_t fallback) {
  const auto c_key = c_text_of(key, "key");
  weft_config* const c_config = config.get();
  std::int64_t value = 0;
  call([&](weft_error** error) {
    return weft_config_integer(c_config, c_key.c_str(), min, max, fallback, &value, error);
  });
  return value;
}

double config_number(const Keys& config, const py::handle& key, double min, double max,
                     double fallback) {
  const auto c_key = c_text_of(key, "key");
  weft_config* const c_config = config.get();
  double value = 0;
  call([&](weft_error** error) {
    return weft_config_number(c_config, c_key.c_str(), min, max, fallback, &value, error);
  });
  return value;
}

bool config_flag(const Keys& config, const py::handle& key, bool fallback) {
  const auto c_key = c_text_of(key, "key");
  weft_config* const c_config = config.get();
  std::int32_t value = 0;
  call([&](weft_error** error) {
    return weft_config_flag(c_config, c_key.c_str(), fallback, &value, error);
  });
  return value != 0;
}

py::object config_text(const Keys& config, const py::handle& key) {
  const auto c_key = c_text_of(key, "key");
  weft_config* const c_config = config.get();
  const char* text = nullptr;
  call_with_gil(
      [&](weft_error** error) { return weft_config_text(c_config, c_key.c_str(), &text, error); });
  return optional_text_of(text);
}

void config_refuse(const Keys& config, const py::handle& key, const py::handle& problem) {
  const auto c_key = c_text_of(key, "key");
  const auto c_problem = c_text_of(problem, "problem");
  weft_config* const c_config = config.get();
  call([&](weft_error** error) {
    return weft_config_refuse(c_config, c_key.c_str(), c_problem.c_str(), error);
  });
}

double builder_get_number(const Builder& builder, std::int64_t layer, const py::handle& name) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  double value = 0;
  call([&](weft_error** error) {
    return weft_builder_get_number(c_builder, layer, c_name.c_str(), &value, error);
  });
  return value;
}

std::int64_t builder_get_integer(const Builder& builder, std::int64_t layer,
                                 const py::handle& name) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  std::int64_t value = 0;
  call([&](weft_error** error) {
    return weft_builder_get_integer(c_builder, layer, c_name.c_str(), &value, error);
  });
  return value;
}

std::unique_ptr<Graph> builder_get_graph(const Builder& builder) {
  weft_builder* const c_builder = builder.get();
  auto graph = std::make_unique<Graph>();
  call([&](weft_error** error) { return weft_builder_get_graph(c_builder, graph->out(), error); });
  return graph;
}

weft_tensor_id builder_get_input(const Builder& builder, std::int32_t which) {
  weft_builder* const c_builder = builder.get();
  weft_tensor_id tensor = 0;
  call(
      [&](weft_error** error) { return weft_builder_get_input(c_builder, which, &tensor, error); });
  return tensor;
}

bool builder_wants_embeddings(const Builder& builder) {
  weft_builder* const c_builder = builder.get();
  std::int32_t wants = 0;
  call([&](weft_error** error) { return weft_builder_wants_embeddings(c_builder, &wants, error); });
  return wants != 0;
}

weft_tensor_id builder_weight(const Builder& builder, const py::handle& name,
                              const std::vector<std::int64_t>& dims, std::uint32_t flags) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  weft_tensor_id tensor = 0;
  call([&](weft_error** error) {
    return weft_builder_weight(c_builder, c_name.c_str(), dims.data(), dims.size(), flags, &tensor,
                               error);
  });
  return tensor;
}

bool builder_has_weight(const Builder& builder, const py::handle& name) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  std::int32_t has = 0;
  call([&](weft_error** error) {
    return weft_builder_has_weight(c_builder, c_name.c_str(), &has, error);
  });
  return has != 0;
}

void builder_ignore_weight(const Builder& builder, const py::handle& name) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  call([&](weft_error** error) {
    return weft_builder_ignore_weight(c_builder, c_name.c_str(), error);
  });
}

void builder_begin_block(const Builder& builder, std::int64_t i) {
  weft_builder* const c_builder = builder.get();
  call([&](weft_error** error) { return weft_builder_begin_block(c_builder, i, error); });
}

void builder_end_block(const Builder& builder) {
  weft_builder* const c_builder = builder.get();
  call([&](weft_error** error) { return weft_builder_end_block(c_builder, error); });
}

weft_tensor_id builder_recurrent(const Builder& builder, const py::handle& kind,
                                 const py::handle& state, const std::vector<std::int64_t>& dims,
                                 const std::vector<weft_tensor_id>& inputs) {
  const auto c_kind = c_text_of(kind, "kind");
  const auto c_state = c_text_of(state, "state");
  weft_builder* const c_builder = builder.get();
  weft_tensor_id y = 0;
  call([&](weft_error** error) {
    return weft_builder_recurrent(c_builder, c_kind.c_str(), c_state.c_str(), dims.data(),
                                  dims.size(), inputs.data(), inputs.size(), &y, error);
  });
  return y;
}

weft_tensor_id builder_norm(const Builder& builder, const py::handle& name, weft_tensor_id x) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  weft_tensor_id y = 0;
  call([&](weft_error** error) {
    return weft_builder_norm(c_builder, c_name.c_str(), x, &y, error);
  });
  return y;
}

weft_tensor_id builder_project(const Builder& builder, const py::handle& name, std::int64_t n_out,
                               std::int64_t n_in, weft_tensor_id x) {
  const auto c_name = c_text_of(name, "name");
  weft_builder* const c_builder = builder.get();
  weft_tensor_id y = 0;
  call([&](weft_error** error) {
    return weft_builder_project(c_builder, c_name.c_str(), n_out, n_in, x, &y, error);
  });
  return y;
}

weft_tensor_id builder_rope_factors(const Builder& builder) {
  weft_builder* const c_builder = builder.get();
  weft_tensor_id factors = 0;
  call([&](weft_error** error) { return weft_builder_rope_factors(c_builder, &factors, error); });
  return factors;
}

weft_tensor_id builder_head(const Builder& builder, weft_tensor_id h, weft_tensor_id embeddings) {
  weft_builder* const c_builder = builder.get();
  weft_tensor_id rows = 0;
  call([&](weft_error** error) {
    return weft_builder_head(c_builder, h, embeddings, &rows, error);
  });
  return rows;
}

void load_extension(const py::handle& path) {
  const auto c_path = c_text_of(path, "path");
  call([&](weft_error** error) { return weft_load_extension(c_path.c_str(), error); });
}

py::str architectures_json() {
  Text json;
  call([&](weft_error** error) { return weft_architectures_json(json.out(), error); });
  return json.str();
}

py::str inspect_json(const py::handle& path) {
  const auto c_path = c_text_of(path, "path");
  Text json;
  call([&](weft_error** error) { return weft_inspect_json(c_path.c_str(), json.out(), error); });
  return json.str();
}

py::str plan_json(const Model& model, const py::dict& options) {
  const auto c_options = session_options(options);
  weft_model* const c_model = model.get();
  Text json;
  call([&](weft_error** error) {
    return weft_plan_json(c_model, c_options.get(), json.out(), error);
  });
  return json.str();
}

py::tuple selftest_json(const Model& model, const py::dict& options) {
  const auto c_options = session_options(options);
  weft_model* const c_model = model.get();
  std::int32_t passed = 0;
  Text json;
  call_watched([&](weft_canceller* canceller, weft_error** error) {
    return weft_selftest_json(c_model, c_options.get(), canceller, &passed, json.out(), error);
  });
  return py::make_tuple(passed != 0, json.str());
}

py::tuple check_new_model_json(const py::handle& architecture, const py::dict& keys,
                               const py::handle& snapshot) {
  const auto c_architecture = c_text_of(architecture, "architecture");
  const Values c_keys(keys);
  const auto c_snapshot = optional_c_text_of(snapshot, "snapshot");
  std::int32_t passed = 0;
  Text json;
  call_watched([&](weft_canceller* canceller, weft_error** error) {
    return weft_check_new_model_json(c_architecture.c_str(), c_keys.data(), c_keys.size(),
                                     c_str_of(c_snapshot), canceller, &passed, json.out(), error);
  });
  return py::make_tuple(passed != 0, json.str());
}

void write_made_model(const py::handle& architecture, const py::dict& keys,
                      const py::handle& path) {
  const auto c_architecture = c_text_of(architecture, "architecture");
  const Values c_keys(keys);
  const auto c_path = c_text_of(path, "path");
  call([&](weft_error** error) {
    return weft_write_made_model(c_architecture.c_str(), c_keys.data(), c_keys.size(),
                                 c_path.c_str(), error);
  });
}

py::str bench_json(const Model& model, const py::dict& options) {
  const BenchOptions c_options(options);
  weft_model* const c_model = model.get();
  Text json;
  call_watched([&](weft_canceller* canceller, weft_error** error) {
    return weft_bench_json(c_model, &c_options.options, canceller, json.out(), error);
  });
  return json.str();
}

py::str limits_json(std::int32_t workers, std::int64_t max_bytes) {
  Text json;
  call_watched([&](weft_canceller* canceller, weft_error** error) {
    return weft_limits_json(workers, max_bytes, canceller, json.out(), error);
  });
  return json.str();
}

void quantize(const py::handle& input, const py::handle& output, const py::dict& options) {
  const auto c_input = c_text_of(input, "input");
  const auto c_output = c_text_of(output, "output");
  const QuantizeOptions c_options(options);
  call([&](weft_error** error) {
    return weft_quantize(c_input.c_str(), c_output.c_str(), &c_options.options, error);
  });
}

void convert(const py::handle& folder, const py::handle& output, const py::handle& type,
             const py::object& progress) {
  const auto c_folder = c_text_of(folder, "folder");
  const auto c_output = c_text_of(output, "output");
  const auto c_type = optional_c_text_of(type, "type");
  call([&](weft_error** error) {
    return weft_convert(c_folder.c_str(), c_output.c_str(), c_str_of(c_type), call_progress,
                        user_of(progress), error);
  });
}

}  // namespace

void add_forwards_of_architectures(py::module_& m) {
  py::class_<Keys>(m.attr("Keys"))
      .def("integer", &config_integer)
      .def("number", &config_number)
      .def("flag", &config_flag)
      .def("text", &config_text)
      .def("refuse", &config_refuse);
  py::class_<Builder>(m.attr("Builder"))
      .def("number", &builder_get_number)
      .def("integer", &builder_get_integer)
      .def("graph", &builder_get_graph)
      .def("input", &builder_get_input)
      .def("wants_embeddings", &builder_wants_embeddings)
      .def("weight", &builder_weight)
      .def("has", &builder_has_weight)
      .def("ignore", &builder_ignore_weight)
      .def("begin_block", &builder_begin_block)
      .def("end_block", &builder_end_block)
      .def("recurrent", &builder_recurrent)
      .def("norm", &builder_norm)
      .def("project", &builder_project)
      .def("rope_factors", &builder_rope_factors)
      .def("head", &builder_head);
  m.def("load_extension", &load_extension);
  m.def("architectures_json", &architectures_json);
  m.def("inspect_json", &inspect_json);
  m.def("plan_json", &plan_json);
  m.def("selftest_json", &selftest_json);
  m.def("check_new_model", &check_new_model_json);
  m.def("write_made_model", &write_made_model);
  m.def("bench_json", &bench_json);
  m.def("limits_json", &limits_json);
  m.def("quantize", &quantize);
  m.def("convert", &convert);
}

}  // namespace weft_python
