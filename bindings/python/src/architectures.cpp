// Architectures whose builders are Python, and their check.
#include "graphs.h"

namespace weft_python {
namespace {

using Ids = std::vector<weft_tensor_id>;
using Sizes = std::vector<std::int64_t>;

// The objects of a callback, which are valid until it returns.
struct Builder {
  weft_builder* b = nullptr;
};
struct Keys {
  weft_config* c = nullptr;
};

std::unique_ptr<Graph> graph_of_builder(const Builder& builder) {
  auto graph = std::make_unique<Graph>();
  call([&](weft_error** error) { return weft_builder_get_graph(builder.b, graph->out(), error); });
  return graph;
}

py::dict rope_of(const Builder& builder) {
  weft_value values[32];
  std::size_t n = 0;
  call([&](weft_error** error) {
    return weft_builder_get_rope(builder.b, values, std::size(values), &n, error);
  });
  return dict_of(values, n);
}

weft_tensor_id weight_of(const Builder& builder, const std::string& name, const Sizes& dims,
                         std::uint32_t flags) {
  return given_by<weft_tensor_id>([&](weft_tensor_id* id, weft_error** error) {
    return weft_builder_weight(builder.b, name.c_str(), dims.data(), dims.size(), flags, id, error);
  });
}

struct AttendOptions {
  explicit AttendOptions(const py::dict& given) : reader(given) {
    weft_attend_options& o = options;
    weft_attend_options_init(&o, sizeof o);
    reader.take("both_ways", o.both_ways).take("window", o.window).take("chunk", o.chunk);
    reader.take("scale", o.scale).take("softcap", o.softcap).take("alibi", o.alibi);
    reader.take("sinks", o.sinks).take("distances", o.distances);
    reader.finish("attend()");
  }
  weft_attend_options options{};
  Options reader;
};

weft_tensor_id attend(const Builder& builder, std::int64_t layer, const Ids& qkv,
                      const py::dict& given) {
  const AttendOptions o(given);
  return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
    if (qkv.size() == 1)
      return weft_builder_attend_stored(builder.b, layer, qkv[0], &o.options, y, error);
    if (qkv.size() == 2)
      return weft_builder_attend_latent(builder.b, layer, qkv[0], qkv[1], &o.options, y, error);
    return weft_builder_attend(builder.b, layer, qkv.at(0), qkv.at(1), qkv.at(2), &o.options, y,
                               error);
  });
}

weft_tensor_id recurrent(const Builder& builder, const std::string& kind, const std::string& state,
                         const Sizes& dims, const Ids& inputs) {
  return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
    return weft_builder_recurrent(builder.b, kind.c_str(), state.c_str(), dims.data(), dims.size(),
                                  inputs.data(), inputs.size(), y, error);
  });
}

void add_builder_blocks(py::class_<Builder>& builder) {
  builder
      .def("norm",
           [](const Builder& at, const std::string& name, weft_tensor_id x) {
             return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
               return weft_builder_norm(at.b, name.c_str(), x, y, error);
             });
           })
      .def("project",
           [](const Builder& at, const std::string& name, std::int64_t n_out, std::int64_t n_in,
              weft_tensor_id x) {
             return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
               return weft_builder_project(at.b, name.c_str(), n_out, n_in, x, y, error);
             });
           })
      .def("rope_factors",
           [](const Builder& at) {
             return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
               return weft_builder_rope_factors(at.b, y, error);
             });
           })
      .def("head", [](const Builder& at, weft_tensor_id h, weft_tensor_id embeddings) {
        return given_by<weft_tensor_id>([&](weft_tensor_id* y, weft_error** error) {
          return weft_builder_head(at.b, h, embeddings, y, error);
        });
      });
}

void add_builder_weights(py::class_<Builder>& builder) {
  builder.def("weight", &weight_of)
      .def("has",
           [](const Builder& at, const std::string& name) {
             return given_by<std::int32_t>([&](std::int32_t* has, weft_error** error) {
                      return weft_builder_has_weight(at.b, name.c_str(), has, error);
                    }) != 0;
           })
      .def("ignore",
           [](const Builder& at, const std::string& name) {
             call([&](weft_error** error) {
               return weft_builder_ignore_weight(at.b, name.c_str(), error);
             });
           })
      .def("begin_block",
           [](const Builder& at, std::int64_t i) {
             call([&](weft_error** error) { return weft_builder_begin_block(at.b, i, error); });
           })
      .def("end_block", [](const Builder& at) {
        call([&](weft_error** error) { return weft_builder_end_block(at.b, error); });
      });
}

void add_builder_values(py::class_<Builder>& builder) {
  builder.def("graph", &graph_of_builder)
      .def("rope", &rope_of)
      .def("integer",
           [](const Builder& at, std::int64_t layer, const std::string& name) {
             return given_by<std::int64_t>([&](std::int64_t* value, weft_error** error) {
               return weft_builder_get_integer(at.b, layer, name.c_str(), value, error);
             });
           })
      .def("number",
           [](const Builder& at, std::int64_t layer, const std::string& name) {
             return given_by<double>([&](double* value, weft_error** error) {
               return weft_builder_get_number(at.b, layer, name.c_str(), value, error);
             });
           })
      .def("input",
           [](const Builder& at, std::int32_t which) {
             return given_by<weft_tensor_id>([&](weft_tensor_id* id, weft_error** error) {
               return weft_builder_get_input(at.b, which, id, error);
             });
           })
      .def("wants_embeddings", [](const Builder& at) {
        return given_by<std::int32_t>([&](std::int32_t* wants, weft_error** error) {
                 return weft_builder_wants_embeddings(at.b, wants, error);
               }) != 0;
      });
}

void add_keys_class(py::module_& m) {
  py::class_<Keys>(m, "Keys")
      .def("integer",
           [](const Keys& keys, const std::string& key, std::int64_t min, std::int64_t max,
              std::int64_t fallback) {
             return given_by<std::int64_t>([&](std::int64_t* value, weft_error** error) {
               return weft_config_integer(keys.c, key.c_str(), min, max, fallback, value, error);
             });
           })
      .def("number",
           [](const Keys& keys, const std::string& key, double min, double max, double fallback) {
             return given_by<double>([&](double* value, weft_error** error) {
               return weft_config_number(keys.c, key.c_str(), min, max, fallback, value, error);
             });
           })
      .def("flag",
           [](const Keys& keys, const std::string& key, bool fallback) {
             return given_by<std::int32_t>([&](std::int32_t* value, weft_error** error) {
                      return weft_config_flag(keys.c, key.c_str(), fallback, value, error);
                    }) != 0;
           })
      .def("text",
           [](const Keys& keys, const std::string& key) -> py::object {
             const auto* text = given_by<const char*>([&](const char** value, weft_error** error) {
               return weft_config_text(keys.c, key.c_str(), value, error);
             });
             return text ? py::object(py::str(text)) : py::object(py::none());
           })
      .def("refuse", [](const Keys& keys, const std::string& key, const std::string& problem) {
        call([&](weft_error** error) {
          return weft_config_refuse(keys.c, key.c_str(), problem.c_str(), error);
        });
      });
}

// The callables of a registered architecture, which live as long as the process.
struct Callables {
  py::object build, configure;
};

weft_status configure_in_python(void* user, weft_config* config, weft_error** error) {
  const weft_status status = in_python<weft_status>(WEFT_ERROR_CALLBACK, [&] {
    static_cast<Callables*>(user)->configure(Keys{config});
    return WEFT_SUCCESS;
  });
  if (status == WEFT_SUCCESS) return status;
  return weft_error_make(status, "configure() raised an exception", error);
}

weft_status build_in_python(void* user, weft_builder* builder, weft_tensor_id* result,
                            weft_error** error) {
  const weft_status status = in_python<weft_status>(WEFT_ERROR_CALLBACK, [&] {
    *result = py::cast<weft_tensor_id>(static_cast<Callables*>(user)->build(Builder{builder}));
    return WEFT_SUCCESS;
  });
  if (status == WEFT_SUCCESS) return status;
  return weft_error_make(status, "build() raised an exception", error);
}

void register_architecture(const std::string& name, const py::object& build,
                           const py::object& configure, std::uint32_t flags) {
  auto callables = std::make_unique<Callables>(Callables{build, configure});
  weft_architecture a{};
  a.struct_size = sizeof a;
  a.flags = flags | WEFT_ARCHITECTURE_REPLACES;
  a.name = name.c_str();
  a.user = callables.get();
  a.build = build_in_python;
  a.configure = configure.is_none() ? nullptr : configure_in_python;
  call([&](weft_error** error) { return weft_register_architecture(&a, error); });
  (void)callables.release();
}

py::tuple check_new_model(const std::string& name, const py::dict& keys,
                          const std::optional<std::string>& snapshot) {
  const Values values(keys);
  Text json;
  std::int32_t passed = 0;
  call_watched([&](weft_canceller* canceller, weft_error** error) {
    return weft_check_new_model_json(name.c_str(), values.data(), values.size(),
                                     snapshot ? snapshot->c_str() : nullptr, canceller, &passed,
                                     json.out(), error);
  });
  return py::make_tuple(passed != 0, json.str());
}

py::tuple verify_model(const Model& model, const py::handle& ids, const py::dict& options) {
  const auto tokens = ids_of(ids);
  const auto how = session_options(options);
  weft_model* const handle = model.get();
  Text json;
  std::int32_t passed = 0;
  call([&](weft_error** error) {
    return weft_verify_json(handle, how.get(), tokens.data(), tokens.size(), nullptr, &passed,
                            json.out(), error);
  });
  return py::make_tuple(passed != 0, json.str());
}

}  // namespace

void add_architectures(py::module_& m) {
  py::class_<Builder> builder(m, "Builder");
  add_builder_values(builder);
  add_builder_weights(builder);
  add_builder_blocks(builder);
  builder.def("attend", &attend).def("recurrent", &recurrent);
  add_keys_class(m);
  m.def("register_architecture", &register_architecture);
  m.def("check_new_model", &check_new_model);
  m.def("verify_model", &verify_model);
  m.def("write_made_model", [](const std::string& name, const py::dict& keys,
                               const std::string& path) {
    const Values values(keys);
    call([&](weft_error** error) {
      return weft_write_made_model(name.c_str(), values.data(), values.size(), path.c_str(), error);
    });
  });
}

}  // namespace weft_python
