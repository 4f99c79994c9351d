// Samplers and grammars.
#include <memory>

#include "native.h"

namespace weft_python {

SamplerOptions::SamplerOptions(const py::dict& given) : reader(given) {
  weft_sampler_options& o = options;
  weft_sampler_options_init(&o, sizeof o);
  reader.take("seed", o.seed).take("top_k", o.top_k).take("temperature", o.temperature);
  reader.take("top_p", o.top_p).take("min_p", o.min_p).take("typical_p", o.typical_p);
  reader.take("top_n_sigma", o.top_n_sigma).take("tfs_z", o.tfs_z);
  reader.take("repeat_penalty", o.repeat_penalty).take("frequency_penalty", o.frequency_penalty);
  reader.take("presence_penalty", o.presence_penalty).take("repeat_last_n", o.repeat_last_n);
  reader.take("dynatemp_range", o.dynatemp_range).take("dynatemp_exponent", o.dynatemp_exponent);
  reader.take("xtc_probability", o.xtc_probability).take("xtc_threshold", o.xtc_threshold);
  reader.take("dry_multiplier", o.dry_multiplier).take("dry_base", o.dry_base);
  reader.take("dry_allowed_length", o.dry_allowed_length);
  reader.take("dry_penalty_last_n", o.dry_penalty_last_n).take("mirostat", o.mirostat);
  reader.take("mirostat_tau", o.mirostat_tau).take("mirostat_eta", o.mirostat_eta);
  reader.take("adaptive_target", o.adaptive_target).take("adaptive_decay", o.adaptive_decay);
  reader.take("order", o.order);
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

std::unique_ptr<Sampler> open_sampler(const py::dict& given) {
  auto sampler = std::make_unique<Sampler>();
  const SamplerOptions o(given);
  call([&](weft_error** error) { return weft_sampler_open(&o.options, sampler->out(), error); });
  return sampler;
}

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

std::unique_ptr<Grammar> open_grammar(std::int32_t kind, const py::handle& text,
                                      const Model* model) {
  auto grammar = std::make_unique<Grammar>();
  const std::string bytes = bytes_of(text, "the grammar");
  weft_model* const of = model ? model->get() : nullptr;
  call([&](weft_error** error) {
    return weft_grammar_open(kind, bytes.data(), bytes.size(), of, grammar->out(), error);
  });
  return grammar;
}

bool accepts(const Grammar& grammar, const py::handle& text) {
  const std::string bytes = bytes_of(text, "text");
  std::int32_t result = 0;
  weft_grammar* const handle = grammar.get();
  call([&](weft_error** error) {
    return weft_grammar_accepts(handle, bytes.data(), bytes.size(), &result, error);
  });
  return result != 0;
}

}  // namespace

void add_samplers(py::module_& m) {
  py::class_<Sampler>(m, "Sampler")
      .def_static("open", &open_sampler)
      .def("sample", &sample)
      .def("accept",
           [](const Sampler& s, std::int64_t given) {
             weft_sampler* const handle = s.get();
             const weft_token token = id_of(given);
             call([&](weft_error** error) { return weft_sampler_accept(handle, token, error); });
           })
      .def("reset", [](const Sampler& s) {
        weft_sampler* const handle = s.get();
        call([&](weft_error** error) { return weft_sampler_reset(handle, error); });
      });
  py::class_<Grammar>(m, "Grammar")
      .def_static("open", &open_grammar, py::arg("kind"), py::arg("text"),
                  py::arg("model").none(true))
      .def("accepts", &accepts);
}

}  // namespace weft_python
