// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "classes.h"

namespace weft_python {
namespace {

void generation_prefill(const Generation& generation, const py::object& progress) {
  weft_generation* const c_generation = generation.get();
  call([&](weft_error** error) {
    return weft_generation_prefill(c_generation, call_token_progress, user_of(progress), error);
  });
}

std::unique_ptr<Generation> generation_fork(const Generation& generation, std::int32_t to_sequence,
                                            const std::optional<std::uint64_t>& seed) {
  weft_generation* const c_generation = generation.get();
  auto fork = std::make_unique<Generation>();
  call([&](weft_error** error) {
    return weft_generation_fork(c_generation, to_sequence, seed ? &*seed : nullptr, fork->out(),
                                error);
  });
  return fork;
}

void generation_set_sampler(const Generation& generation, const py::dict& sampler) {
  const SamplerOptions c_sampler(sampler);
  weft_generation* const c_generation = generation.get();
  call([&](weft_error** error) {
    return weft_generation_set_sampler(c_generation, &c_sampler.options, error);
  });
}

void generation_set_grammar(const Generation& generation, const Grammar* grammar) {
  weft_generation* const c_generation = generation.get();
  weft_grammar* const c_grammar = grammar ? grammar->get() : nullptr;
  call([&](weft_error** error) {
    return weft_generation_set_grammar(c_generation, c_grammar, error);
  });
}

py::dict generation_get_info(const Generation& generation) {
  weft_generation* const c_generation = generation.get();
  weft_generation_info info{};
  info.struct_size = sizeof info;
  call_with_gil(
      [&](weft_error** error) { return weft_generation_get_info(c_generation, &info, error); });
  return dict_of(info);
}

std::unique_ptr<Batch> batch_open(const Session& session) {
  weft_session* const c_session = session.get();
  auto batch = std::make_unique<Batch>();
  call([&](weft_error** error) { return weft_batch_open(c_session, batch->out(), error); });
  return batch;
}

py::str generation_search_json(const Generation& generation, const py::dict& options) {
  const BeamOptions c_options(options);
  weft_generation* const c_generation = generation.get();
  Text json;
  call([&](weft_error** error) {
    return weft_generation_search_json(c_generation, &c_options.options, json.out(), error);
  });
  return json.str();
}

void diffusion_begin(const Diffusion& diffusion, const py::handle& prompt) {
  const auto c_prompt = ids_of(prompt);
  weft_diffusion* const c_diffusion = diffusion.get();
  call([&](weft_error** error) {
    return weft_diffusion_begin(c_diffusion, c_prompt.data(), c_prompt.size(), error);
  });
}

bool diffusion_step(const Diffusion& diffusion) {
  weft_diffusion* const c_diffusion = diffusion.get();
  std::int32_t more = 0;
  call([&](weft_error** error) { return weft_diffusion_step(c_diffusion, &more, error); });
  return more != 0;
}

py::str diffusion_get_text(const Diffusion& diffusion, const py::handle& masked) {
  const auto c_masked = optional_c_text_of(masked, "masked");
  weft_diffusion* const c_diffusion = diffusion.get();
  Text text;
  call([&](weft_error** error) {
    return weft_diffusion_get_text(c_diffusion, c_str_of(c_masked), text.out(), error);
  });
  return text.str();
}

py::dict diffusion_get_info(const Diffusion& diffusion) {
  weft_diffusion* const c_diffusion = diffusion.get();
  weft_diffusion_info info{};
  info.struct_size = sizeof info;
  call_with_gil(
      [&](weft_error** error) { return weft_diffusion_get_info(c_diffusion, &info, error); });
  return dict_of(info);
}

}  // namespace

void add_forwards_of_generations(py::module_& m) {
  py::class_<Generation>(m.attr("Generation"))
      .def("prefill", &generation_prefill)
      .def("fork", &generation_fork)
      .def("set_sampler", &generation_set_sampler)
      .def("set_grammar", &generation_set_grammar)
      .def("info", &generation_get_info)
      .def("search_json", &generation_search_json);
  py::class_<Batch>(m.attr("Batch")).def_static("open", &batch_open);
  py::class_<Diffusion>(m.attr("Diffusion"))
      .def("begin", &diffusion_begin)
      .def("step", &diffusion_step)
      .def("text", &diffusion_get_text)
      .def("info", &diffusion_get_info);
}

}  // namespace weft_python
