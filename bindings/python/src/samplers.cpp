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

// What the stages kept at the last sample: (id, logit, probability).
std::vector<std::tuple<weft_token, float, float>> candidates(const Sampler& sampler) {
  const weft_candidate* kept = nullptr;
  std::size_t n = 0;
  weft_sampler* const handle = sampler.get();
  call_with_gil(
      [&](weft_error** error) { return weft_sampler_get_candidates(handle, &kept, &n, error); });
  std::vector<std::tuple<weft_token, float, float>> all;
  for (const weft_candidate* c = kept; c != kept + n; ++c)
    all.emplace_back(c->token, c->logit, c->probability);
  return all;
}

std::vector<std::pair<weft_token, float>> top_logprobs(const py::handle& logits,
                                                       std::size_t n_top) {
  const Numbers row(logits, "logits");
  std::vector<weft_logprob> top(std::min(n_top, row.size()));  // it refuses more
  call([&](weft_error** error) {
    return weft_top_logprobs(row.data(), row.size(), top.data(), n_top, error);
  });
  std::vector<std::pair<weft_token, float>> all;
  for (const weft_logprob& one : top) all.emplace_back(one.token, one.logprob);
  return all;
}

}  // namespace

void add_samplers(py::module_& m) {
  py::class_<Sampler>(m.attr("Sampler")).def("candidates", &candidates);
  m.def("top_logprobs", &top_logprobs);
}

}  // namespace weft_python
