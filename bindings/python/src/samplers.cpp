// Samplers.
#include <memory>

#include "classes.h"

namespace weft_python {

SamplerOptions::SamplerOptions(const py::dict& given) : reader(given) {
  weft_sampler_options& o = options;
  weft_sampler_options_init(&o, sizeof o);
  take_members(reader, o);
  if (const py::handle b = reader.find("logit_bias"); b && !b.is_none()) {
    for (const auto& [id, bias] : py::cast<py::dict>(b))
      biases.push_back({id_of(integer_of(id, "an id of logit_bias")),
                        static_cast<float>(number_of(bias, "a bias"))});
  }
  if (const py::handle b = reader.find("dry_breakers"); b && !b.is_none()) breakers = ids_of(b);
  o.logit_bias = biases.data();
  o.n_logit_bias = static_cast<std::uint32_t>(biases.size());
  o.dry_breakers = breakers.data();
  o.n_dry_breakers = static_cast<std::uint32_t>(breakers.size());
  reader.finish("Sampler()");
}

namespace {

using Logits = py::array_t<float, py::array::c_style | py::array::forcecast>;

weft_token sample(const Sampler& sampler, const py::handle& logits) {
  const auto row = Logits::ensure(logits);
  if (!row) {
    PyErr_Clear();
    throw py::type_error("logits must be an array of numbers");
  }
  if (row.ndim() != 1)
    raise("shape", "logits must have one dimension, not " + std::to_string(row.ndim()));
  const float* const data = row.data();
  const auto n = static_cast<std::size_t>(row.shape(0));
  weft_sampler* const handle = sampler.get();
  weft_token token = -1;
  call([&](weft_error** error) { return weft_sampler_sample(handle, data, n, &token, error); });
  return token;
}

}  // namespace

void add_samplers(py::module_& m) {
  py::class_<Sampler>(m.attr("Sampler")).def("sample", &sample);
}

}  // namespace weft_python
