// Ops that are defined by functions of numpy.
#include "graphs.h"

namespace weft_python {
namespace {

// A registered op, which lives as long as the process.
struct CustomOp {
  py::object infer, compute;
};

// A copy: the function may keep it.
py::array copy_of(const weft_array& array) {
  return array_of(array, py::none()).attr("copy")();
}

// infer([(dtype, shape)], attributes) gives (dtype, shape); shapes have a bound and a variable per
// dimension.
weft_status infer_in_python(void* user, const weft_spec* inputs, std::size_t n,
                            const weft_value* attributes, std::size_t n_attributes,
                            weft_spec* output, weft_error** error) {
  const weft_status status = in_python<weft_status>(WEFT_ERROR_CALLBACK, [&] {
    using Dims = std::vector<std::pair<std::int64_t, std::int32_t>>;
    py::list specs;
    for (const weft_spec* s = inputs; s != inputs + n; ++s) {
      Dims dims;
      for (std::int32_t d = 0; d < s->rank; ++d)
        dims.emplace_back(s->dims[d].bound, s->dims[d].variable);
      specs.append(py::make_tuple(s->dtype, dims));
    }
    const py::tuple made =
        static_cast<CustomOp*>(user)->infer(specs, dict_of(attributes, n_attributes));
    // Names of types that live as long as the process.
    output->dtype = PyUnicode_AsUTF8(py::object(made[0]).ptr());
    const auto dims = py::cast<Dims>(made[1]);
    output->rank = static_cast<std::int32_t>(dims.size());
    if (dims.size() > 4) raise("shape", "the output has more than 4 dimensions");
    for (std::size_t d = 0; d < dims.size(); ++d)
      output->dims[d] = {dims[d].first, dims[d].second, 0};
    return WEFT_SUCCESS;
  });
  if (status == WEFT_SUCCESS) return status;
  return weft_error_make(status, "the op raised an exception", error);
}

// Runs on threads of the library.
weft_status compute_in_python(void* user, const weft_array* inputs, std::size_t n,
                              const weft_value* attributes, std::size_t n_attributes,
                              weft_array* output, weft_error** error) {
  const CallbackScope scope;
  if (!scope) return weft_error_make(WEFT_ERROR_CALLBACK, "the interpreter is ending", error);
  const py::gil_scoped_acquire gil;
  try {
    py::list arrays;
    for (const weft_array* a = inputs; a != inputs + n; ++a) arrays.append(copy_of(*a));
    py::array out = array_of(*output, py::none());
    const py::tuple shape(out.attr("shape"));
    out[py::ellipsis()] = static_cast<CustomOp*>(user)->compute(
        arrays, dict_of(attributes, n_attributes), shape, out.dtype());
    return WEFT_SUCCESS;
  } catch (py::error_already_set& e) {
    return weft_error_make(WEFT_ERROR_CALLBACK, remember_exception(e).c_str(), error);
  } catch (const std::exception& e) {
    return weft_error_make(WEFT_ERROR_CALLBACK, e.what(), error);
  }
}

void register_op(const std::string& name, const std::vector<std::string>& inputs,
                 const py::object& infer, const py::object& compute,
                 const std::optional<std::string>& sharding) {
  auto callables = std::make_unique<CustomOp>(CustomOp{infer, compute});
  std::vector<const char*> names;
  for (const std::string& input : inputs) names.push_back(input.c_str());
  weft_op op{};
  op.struct_size = sizeof op;
  op.n_inputs = static_cast<std::uint32_t>(names.size());
  op.name = name.c_str();
  op.input_names = names.data();
  op.user = callables.get();
  op.infer = infer_in_python;
  op.compute = compute_in_python;
  op.flags = WEFT_OP_REPLACES;
  op.sharding = sharding ? sharding->c_str() : nullptr;
  call([&](weft_error** error) { return weft_register_op(&op, error); });
  (void)callables.release();
}

}  // namespace

void add_custom_ops(py::module_& m) {
  m.def("register_op", &register_op);
}

}  // namespace weft_python
