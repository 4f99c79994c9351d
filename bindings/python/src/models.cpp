// Models and their tokens.
#include <memory>
#include <optional>

#include "classes.h"

namespace weft_python {
namespace {

struct ModelOptions {
  explicit ModelOptions(const py::dict& given) : reader(given) {
    weft_model_options_init(&options, sizeof options);
    progress = py::reinterpret_borrow<py::object>(reader.find("progress"));
    if (progress && !progress.is_none()) {
      options.progress = call_progress;
      options.progress_user = progress.ptr();
    }
    take_members(reader, options);
    overrides();
    adapters("loras", loras, options.loras, options.n_loras);
    adapters("control_vectors", control_vectors, options.control_vectors,
             options.n_control_vectors);
    control_layers();
    reader.finish("Model()");
  }
  void overrides();
  void adapters(const char* name, std::vector<weft_adapter>& all, const weft_adapter*& data,
                std::uint32_t& n);
  void control_layers();

  weft_model_options options{};
  Options reader;
  py::object progress;
  std::deque<std::string> texts;
  std::vector<weft_value> values;
  std::vector<weft_adapter> loras, control_vectors;
};

// A list of pairs of a path and a scale.
void ModelOptions::adapters(const char* name, std::vector<weft_adapter>& all,
                            const weft_adapter*& data, std::uint32_t& n) {
  const py::handle given = reader.find(name);
  if (!given || given.is_none()) return;
  for (const auto& pair : py::cast<py::list>(given)) {
    const auto [path, scale] = py::cast<std::pair<py::object, float>>(pair);
    all.push_back({texts.emplace_back(c_text_of(path, name)).c_str(), scale, 0});
  }
  data = all.data();
  n = static_cast<std::uint32_t>(all.size());
}

void ModelOptions::control_layers() {
  const py::handle given = reader.find("control_layers");
  if (!given || given.is_none()) return;
  std::tie(options.control_first_layer, options.control_last_layer) =
      py::cast<std::pair<std::int32_t, std::int32_t>>(given);
}

// A dict of keys of the file with bool, int, float and str.
void ModelOptions::overrides() {
  const py::handle given = reader.find("overrides");
  if (!given || given.is_none()) return;
  for (const auto& [key, x] : py::cast<py::dict>(given)) {
    weft_value v{};
    v.name = texts.emplace_back(py::cast<std::string>(key)).c_str();
    if (PyBool_Check(x.ptr())) {
      v.kind = WEFT_VALUE_BOOL, v.integer = x.ptr() == Py_True;
    } else if (PyLong_Check(x.ptr())) {
      v.kind = WEFT_VALUE_INTEGER, v.integer = integer_of(x, v.name);
    } else if (PyFloat_Check(x.ptr())) {
      v.kind = WEFT_VALUE_NUMBER, v.number = number_of(x, v.name);
    } else {
      v.kind = WEFT_VALUE_TEXT, v.text = texts.emplace_back(c_text_of(x, v.name)).c_str();
    }
    values.push_back(v);
  }
  options.override_values = values.data();
  options.n_override_values = static_cast<std::uint32_t>(values.size());
}

std::unique_ptr<Model> open_path(const py::handle& given_path, const py::dict& given) {
  const std::string path = c_text_of(given_path, "path");
  auto model = std::make_unique<Model>();
  const ModelOptions o(given);
  call([&](weft_error** error) {
    return weft_model_open(path.c_str(), &o.options, model->out(), error);
  });
  return model;
}

std::unique_ptr<Model> open_descriptor(std::int32_t descriptor, const py::dict& given) {
  auto model = std::make_unique<Model>();
  const ModelOptions o(given);
  call([&](weft_error** error) {
    return weft_model_open_descriptor(descriptor, nullptr, &o.options, model->out(), error);
  });
  return model;
}

void release_bytes(void* user) {
  const CallbackScope scope;
  if (!scope) return;  // nobody can free it any more
  const py::gil_scoped_acquire gil;
  Py_DECREF(static_cast<PyObject*>(user));
}

// Bytes, which cannot change, are used in place; other buffers are copied.
std::unique_ptr<Model> open_buffer(const py::object& buffer, const py::dict& given) {
  auto model = std::make_unique<Model>();
  const ModelOptions o(given);
  const auto bytes = py::reinterpret_steal<py::object>(PyBytes_CheckExact(buffer.ptr())
                                                           ? Py_NewRef(buffer.ptr())
                                                           : PyBytes_FromObject(buffer.ptr()));
  if (!bytes) throw py::error_already_set();
  PyObject* const lent = Py_NewRef(bytes.ptr());
  call([&](weft_error** error) {
    return weft_model_open_memory(PyBytes_AS_STRING(lent),
                                  static_cast<std::size_t>(PyBytes_GET_SIZE(lent)), nullptr,
                                  release_bytes, lent, &o.options, model->out(), error);
  });
  return model;
}

std::vector<weft_token> encode(const Model& model, const py::handle& text, bool add_special,
                               bool parse_special) {
  const std::string bytes = bytes_of(text, "text");
  std::vector<weft_token> ids(bytes.size() + 8);
  std::size_t n = 0;
  const std::uint32_t flags = (add_special ? WEFT_TOKENIZE_ADD_SPECIAL : 0) |
                              (parse_special ? WEFT_TOKENIZE_PARSE_SPECIAL : 0);
  weft_model* const handle = model.get();
  weft_error* error = nullptr;
  weft_status status = WEFT_SUCCESS;
  const auto tokenize = [&] {
    for (int round = 0; round < 2; ++round) {
      weft_error_free(std::exchange(error, nullptr));
      status = weft_tokenize(handle, bytes.data(), bytes.size(), flags, ids.data(), ids.size(), &n,
                             &error);
      if (status != WEFT_ERROR_CAPACITY) return;
      ids.resize(n);
    }
  };
  // Others may run meanwhile; for short texts that would take longer than encoding them.
  if (bytes.size() > std::size_t{1} << 12) {
    without_gil(tokenize);
  } else {
    tokenize();
  }
  finish(status, error);
  ids.resize(n);
  return ids;
}

py::bytes decode(const Model& model, const py::handle& ids, bool show_special, bool strip) {
  const auto tokens = ids_of(ids);
  const std::uint32_t flags = (show_special ? WEFT_DETOKENIZE_SHOW_SPECIAL : 0) |
                              (strip ? WEFT_DETOKENIZE_STRIP_SPACE_PREFIX : 0);
  weft_model* const handle = model.get();
  Text text;
  call([&](weft_error** error) {
    return weft_detokenize(handle, tokens.data(), tokens.size(), flags, text.out(), error);
  });
  return text.bytes();
}

bool ends_text(const Model& model, std::int64_t id) {
  weft_token_info info{.struct_size = sizeof info};
  weft_model* const handle = model.get();
  const weft_token token = id_of(id);
  call([&](weft_error** error) { return weft_token_get_info(handle, token, &info, error); });
  return (info.flags & WEFT_TOKEN_ENDS_TEXT) != 0;
}

// The text of a turn, whose parts are JSON.
py::str render(const Model& model, const std::string& messages,
               const std::optional<std::string>& tools, const std::optional<std::string>& variables,
               bool add_generation_prompt) {
  weft_chat* chat = nullptr;
  weft_model* const handle = model.get();
  call([&](weft_error** error) { return weft_chat_open(handle, nullptr, &chat, error); });
  weft_chat_turn turn;
  weft_chat_turn_init(&turn, sizeof turn);
  turn.messages = messages.c_str();
  turn.tools = tools ? tools->c_str() : nullptr;
  turn.variables = variables ? variables->c_str() : nullptr;
  turn.without_generation_prompt = !add_generation_prompt;
  turn.answer_final_message = 1;
  Text text;
  weft_error* error = nullptr;
  const weft_status status = weft_chat_render(chat, &turn, text.out(), &error);
  weft_chat_free(chat);
  finish(status, error);
  return text.str();
}

py::str dot(const Model& model, std::int64_t n_tokens) {
  Text text;
  weft_model* const handle = model.get();
  call([&](weft_error** error) {
    return weft_model_dot(handle, nullptr, n_tokens, text.out(), error);
  });
  return text.str();
}

py::array_t<float> read_tensor(const Model& model, const py::object& given) {
  const std::string name = c_text_of(given, "name");
  weft_model* const handle = model.get();
  weft_tensor_info info{};
  info.struct_size = sizeof info;
  std::size_t n = 0;
  call([&](weft_error** error) {
    const weft_status status =
        weft_model_read_tensor(handle, name.c_str(), &info, nullptr, 0, &n, error);
    if (status != WEFT_ERROR_CAPACITY) return status;
    weft_error_free(std::exchange(*error, nullptr));
    return weft_status{WEFT_SUCCESS};
  });
  std::vector<py::ssize_t> shape;
  for (int i = 0; i < info.rank; ++i) shape.push_back(info.dims[i].bound);
  py::array_t<float> values(shape);
  float* const data = values.mutable_data();
  call([&](weft_error** error) {
    return weft_model_read_tensor(handle, name.c_str(), nullptr, data, n, &n, error);
  });
  return values;
}

}  // namespace

void add_models(py::module_& m) {
  py::class_<Model>(m.attr("Model"))
      .def_static("open", &open_path)
      .def_static("open_descriptor", &open_descriptor)
      .def_static("open_buffer", &open_buffer)
      .def("share", [](Model& model) { return Model::share(model); })
      .def_property_readonly("closed", &Model::closed)
      .def("dot", &dot)
      .def("read_tensor", &read_tensor)
      .def("encode", &encode)
      .def("decode", &decode)
      .def("ends_text", &ends_text)
      .def("render", &render);
}

}  // namespace weft_python
