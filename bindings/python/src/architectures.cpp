// Architectures whose builders are Python, and their check.
#include "graphs.h"

namespace weft_python {
namespace {

using Ids = std::vector<weft_tensor_id>;

py::dict rope_of(const Builder& builder) {
  weft_value values[32];
  std::size_t n = 0;
  call([&](weft_error** error) {
    return weft_builder_get_rope(builder.handle, values, std::size(values), &n, error);
  });
  return dict_of(values, n);
}

struct AttendOptions {
  explicit AttendOptions(const py::dict& given) : reader(given) {
    weft_attend_options& o = options;
    weft_attend_options_init(&o, sizeof o);
    take_members(reader, o);
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
      return weft_builder_attend_stored(builder.handle, layer, qkv[0], &o.options, y, error);
    if (qkv.size() == 2)
      return weft_builder_attend_latent(builder.handle, layer, qkv[0], qkv[1], &o.options, y,
                                        error);
    return weft_builder_attend(builder.handle, layer, qkv.at(0), qkv.at(1), qkv.at(2), &o.options,
                               y, error);
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
  py::class_<Builder>(m.attr("Builder")).def("rope", &rope_of).def("attend", &attend);
  m.def("register_architecture", &register_architecture);
  m.def("verify_model", &verify_model);
}

}  // namespace weft_python
