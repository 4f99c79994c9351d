// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "classes.h"

namespace weft_python {
namespace {

py::str version() {
  return text_of(weft_version());
}

py::str about_json() {
  Text json;
  call([&](weft_error** error) { return weft_about_json(json.out(), error); });
  return json.str();
}

void guard_mappings() {
  call([&](weft_error** error) { return weft_guard_mappings(error); });
}

void load_backend(const py::handle& path) {
  const auto c_path = c_text_of(path, "path");
  call([&](weft_error** error) { return weft_load_backend(c_path.c_str(), error); });
}

py::dict model_get_info(const Model& model) {
  weft_model* const c_model = model.get();
  weft_model_info info{};
  info.struct_size = sizeof info;
  call_with_gil([&](weft_error** error) { return weft_model_get_info(c_model, &info, error); });
  return dict_of(info);
}

py::str model_metadata_json(const Model& model, std::size_t max_elements) {
  weft_model* const c_model = model.get();
  Text json;
  call([&](weft_error** error) {
    return weft_model_metadata_json(c_model, max_elements, json.out(), error);
  });
  return json.str();
}

py::str model_warnings_json(const Model& model) {
  weft_model* const c_model = model.get();
  Text json;
  call([&](weft_error** error) { return weft_model_warnings_json(c_model, json.out(), error); });
  return json.str();
}

py::object model_get_chat_template(const Model& model) {
  weft_model* const c_model = model.get();
  const char* text = nullptr;
  call_with_gil(
      [&](weft_error** error) { return weft_model_get_chat_template(c_model, &text, error); });
  return optional_text_of(text);
}

void model_check_files(const Model& model) {
  weft_model* const c_model = model.get();
  call([&](weft_error** error) { return weft_model_check_files(c_model, error); });
}

py::bytes token_get_bytes(const Model& model, std::int64_t token) {
  const weft_token c_token = id_of(token);
  weft_model* const c_model = model.get();
  const char* data = nullptr;
  std::size_t size = 0;
  call_with_gil([&](weft_error** error) {
    return weft_token_get_bytes(c_model, c_token, &data, &size, error);
  });
  return py::bytes(data, size);
}

py::bytes token_get_text(const Model& model, std::int64_t token) {
  const weft_token c_token = id_of(token);
  weft_model* const c_model = model.get();
  const char* data = nullptr;
  std::size_t size = 0;
  call_with_gil([&](weft_error** error) {
    return weft_token_get_text(c_model, c_token, &data, &size, error);
  });
  return py::bytes(data, size);
}

weft_token token_find(const Model& model, const py::handle& text) {
  const std::string c_text = bytes_of(text, "text");
  weft_model* const c_model = model.get();
  weft_token token = 0;
  call([&](weft_error** error) {
    return weft_token_find(c_model, c_text.data(), c_text.size(), &token, error);
  });
  return token;
}

weft_token token_get_special(const Model& model, std::int32_t which) {
  weft_model* const c_model = model.get();
  weft_token token = 0;
  call([&](weft_error** error) { return weft_token_get_special(c_model, which, &token, error); });
  return token;
}

std::unique_ptr<Detokenizer> detokenizer_open(const Model& model, std::uint32_t flags) {
  weft_model* const c_model = model.get();
  auto detokenizer = std::make_unique<Detokenizer>();
  call([&](weft_error** error) {
    return weft_detokenizer_open(c_model, flags, detokenizer->out(), error);
  });
  return detokenizer;
}

py::str detokenizer_push(const Detokenizer& detokenizer, std::int64_t token) {
  const weft_token c_token = id_of(token);
  weft_detokenizer* const c_detokenizer = detokenizer.get();
  const char* text = nullptr;
  std::size_t size = 0;
  call_with_gil([&](weft_error** error) {
    return weft_detokenizer_push(c_detokenizer, c_token, &text, &size, error);
  });
  return text_of(text, size);
}

py::str detokenizer_finish(const Detokenizer& detokenizer) {
  weft_detokenizer* const c_detokenizer = detokenizer.get();
  const char* text = nullptr;
  std::size_t size = 0;
  call_with_gil([&](weft_error** error) {
    return weft_detokenizer_finish(c_detokenizer, &text, &size, error);
  });
  return text_of(text, size);
}

std::unique_ptr<Grammar> grammar_open(std::int32_t kind, const py::handle& text,
                                      const Model* model) {
  const std::string c_text = bytes_of(text, "text");
  weft_model* const c_model = model ? model->get() : nullptr;
  auto grammar = std::make_unique<Grammar>();
  call([&](weft_error** error) {
    return weft_grammar_open(kind, c_text.data(), c_text.size(), c_model, grammar->out(), error);
  });
  return grammar;
}

bool grammar_accepts(const Grammar& grammar, const py::handle& text) {
  const std::string c_text = bytes_of(text, "text");
  weft_grammar* const c_grammar = grammar.get();
  std::int32_t accepts = 0;
  call([&](weft_error** error) {
    return weft_grammar_accepts(c_grammar, c_text.data(), c_text.size(), &accepts, error);
  });
  return accepts != 0;
}

std::unique_ptr<Constraint> constraint_open(const Grammar& grammar, const Model& model) {
  weft_grammar* const c_grammar = grammar.get();
  weft_model* const c_model = model.get();
  auto constraint = std::make_unique<Constraint>();
  call([&](weft_error** error) {
    return weft_constraint_open(c_grammar, c_model, constraint->out(), error);
  });
  return constraint;
}

py::array_t<std::uint64_t> constraint_get_mask(const Constraint& constraint) {
  weft_constraint* const c_constraint = constraint.get();
  const std::uint64_t* words = nullptr;
  std::size_t n_words = 0;
  call_with_gil([&](weft_error** error) {
    return weft_constraint_get_mask(c_constraint, &words, &n_words, error);
  });
  return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(n_words), words);
}

void constraint_accept(const Constraint& constraint, std::int64_t token) {
  const weft_token c_token = id_of(token);
  weft_constraint* const c_constraint = constraint.get();
  call([&](weft_error** error) { return weft_constraint_accept(c_constraint, c_token, error); });
}

void constraint_reset(const Constraint& constraint) {
  weft_constraint* const c_constraint = constraint.get();
  call([&](weft_error** error) { return weft_constraint_reset(c_constraint, error); });
}

py::tuple constraint_get_state(const Constraint& constraint) {
  weft_constraint* const c_constraint = constraint.get();
  std::int32_t may_end = 0;
  std::int32_t may_continue = 0;
  call([&](weft_error** error) {
    return weft_constraint_get_state(c_constraint, &may_end, &may_continue, error);
  });
  return py::make_tuple(may_end != 0, may_continue != 0);
}

py::bytes constraint_get_forced(const Constraint& constraint, std::size_t max_bytes) {
  weft_constraint* const c_constraint = constraint.get();
  Text text;
  call([&](weft_error** error) {
    return weft_constraint_get_forced(c_constraint, max_bytes, text.out(), error);
  });
  return text.bytes();
}

std::unique_ptr<Sampler> sampler_open(const py::dict& options) {
  const SamplerOptions c_options(options);
  auto sampler = std::make_unique<Sampler>();
  call([&](weft_error** error) {
    return weft_sampler_open(&c_options.options, sampler->out(), error);
  });
  return sampler;
}

weft_token sampler_sample(const Sampler& sampler, const py::handle& logits) {
  const Numbers c_logits(logits, "logits");
  weft_sampler* const c_sampler = sampler.get();
  weft_token token = 0;
  call([&](weft_error** error) {
    return weft_sampler_sample(c_sampler, c_logits.data(), c_logits.size(), &token, error);
  });
  return token;
}

void sampler_accept(const Sampler& sampler, std::int64_t token) {
  const weft_token c_token = id_of(token);
  weft_sampler* const c_sampler = sampler.get();
  call([&](weft_error** error) { return weft_sampler_accept(c_sampler, c_token, error); });
}

void sampler_reset(const Sampler& sampler) {
  weft_sampler* const c_sampler = sampler.get();
  call([&](weft_error** error) { return weft_sampler_reset(c_sampler, error); });
}

void sampler_reseed(const Sampler& sampler, std::uint64_t seed) {
  weft_sampler* const c_sampler = sampler.get();
  call([&](weft_error** error) { return weft_sampler_reseed(c_sampler, seed, error); });
}

std::unique_ptr<Sampler> sampler_copy(const Sampler& sampler) {
  weft_sampler* const c_sampler = sampler.get();
  auto copy = std::make_unique<Sampler>();
  call([&](weft_error** error) { return weft_sampler_copy(c_sampler, copy->out(), error); });
  return copy;
}

float logprob_of(const py::handle& logits, std::int64_t token) {
  const Numbers c_logits(logits, "logits");
  const weft_token c_token = id_of(token);
  float logprob = 0;
  call([&](weft_error** error) {
    return weft_logprob_of(c_logits.data(), c_logits.size(), c_token, &logprob, error);
  });
  return logprob;
}

}  // namespace

void add_forwards_of_models(py::module_& m) {
  m.def("version", &version);
  m.def("about_json", &about_json);
  m.def("guard_mappings", &guard_mappings);
  m.def("load_backend", &load_backend);
  m.def("logprob_of", &logprob_of);
  py::class_<Model>(m.attr("Model"))
      .def("info", &model_get_info)
      .def("metadata_json", &model_metadata_json)
      .def("warnings_json", &model_warnings_json)
      .def("chat_template", &model_get_chat_template)
      .def("check_files", &model_check_files)
      .def("token_bytes", &token_get_bytes)
      .def("token_text", &token_get_text)
      .def("find_token", &token_find)
      .def("special", &token_get_special);
  py::class_<Detokenizer>(m.attr("Detokenizer"))
      .def_static("open", &detokenizer_open)
      .def("push", &detokenizer_push)
      .def("finish", &detokenizer_finish);
  py::class_<Grammar>(m.attr("Grammar"))
      .def_static("open", &grammar_open)
      .def("accepts", &grammar_accepts);
  py::class_<Constraint>(m.attr("Constraint"))
      .def_static("open", &constraint_open)
      .def("mask", &constraint_get_mask)
      .def("accept", &constraint_accept)
      .def("reset", &constraint_reset)
      .def("state", &constraint_get_state)
      .def("forced", &constraint_get_forced);
  py::class_<Sampler>(m.attr("Sampler"))
      .def_static("open", &sampler_open)
      .def("sample", &sampler_sample)
      .def("accept", &sampler_accept)
      .def("reset", &sampler_reset)
      .def("reseed", &sampler_reseed)
      .def("copy", &sampler_copy);
}

}  // namespace weft_python
