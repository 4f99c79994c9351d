// Texts.
#include <memory>

#include "classes.h"

namespace weft_python {

BeamOptions::BeamOptions(const py::dict& given) : reader(given) {
  weft_beam_options_init(&options, sizeof options);
  take_members(reader, options);
  reader.finish("search_json()");
}

namespace {

// The texts of a list of str, which they refer to.
std::vector<weft_string> strings_of(const std::vector<std::string>& texts) {
  std::vector<weft_string> all;
  for (const std::string& text : texts) all.push_back({text.data(), text.size()});
  return all;
}

std::vector<std::string> list_of(Options& reader, const char* name) {
  std::vector<std::string> all;
  const py::handle given = reader.find(name);
  if (!given || given.is_none()) return all;
  if (PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()))
    throw py::type_error(std::string(name) + " must be a list of str");
  for (const py::handle text : py::iter(given)) all.push_back(bytes_of(text, name));
  return all;
}

std::unique_ptr<Generation> open_text(const Session& session, std::int32_t sequence,
                                      const py::dict& sampler, const Grammar* grammar,
                                      const std::vector<std::string>& stops,
                                      const Speculation* speculation, const py::dict& given) {
  auto generation = std::make_unique<Generation>();
  const SamplerOptions with(sampler);
  weft_generation_options o;
  weft_generation_options_init(&o, sizeof o);
  Options reader(given);
  take_members(reader, o);
  const auto banned = list_of(reader, "banned");
  const py::handle given_ids = reader.find("stop_tokens");
  const auto stop_ids =
      given_ids && !given_ids.is_none() ? ids_of(given_ids) : std::vector<weft_token>();
  reader.finish("generate()");
  const auto stop_texts = strings_of(stops), banned_texts = strings_of(banned);
  o.stops = stop_texts.data();
  o.n_stops = static_cast<std::uint32_t>(stop_texts.size());
  o.banned = banned_texts.data();
  o.n_banned = static_cast<std::uint32_t>(banned_texts.size());
  o.stop_tokens = stop_ids.data();
  o.n_stop_tokens = static_cast<std::uint32_t>(stop_ids.size());
  o.sampler = &with.options;
  o.grammar = grammar ? grammar->get() : nullptr;
  o.speculation = speculation ? speculation->get() : nullptr;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_generation_open(handle, sequence, &o, generation->out(), error);
  });
  return generation;
}

// (text, token, stop). Models may generate any bytes.
py::tuple tuple_of(const weft_generation_event& event) {
  return py::make_tuple(text_of(event.text, event.text_size), event.token, event.stop);
}

py::tuple next_event(const Generation& generation) {
  weft_generation_event event{};
  event.struct_size = sizeof event;
  weft_generation* const handle = generation.get();
  call([&](weft_error** error) { return weft_generation_next(handle, &event, error); });
  return tuple_of(event);
}

// For each text its event, None, or the exception of its rules or its sampler.
py::list step_together(const Batch& batch, const std::vector<const Generation*>& texts) {
  std::vector<weft_generation*> handles;
  for (const Generation* text : texts) {
    if (!text) throw py::type_error("generations must be a list of Generation, not of None");
    handles.push_back(text->get());
  }
  weft_batch* const handle = batch.get();
  const std::size_t n = handles.size();
  std::vector<weft_generation_event> events(n, {.struct_size = sizeof(weft_generation_event)});
  std::vector<std::int32_t> has_event(n);
  call([&](weft_error** error) {
    return weft_batch_step(handle, handles.data(), n, events.data(), has_event.data(), error);
  });
  py::list all;
  for (std::size_t i = 0; i < n; ++i) {
    const weft_generation_event& event = events[i];
    if (has_event[i] == 0) {
      all.append(py::none());
    } else if (has_event[i] > 0) {
      all.append(tuple_of(event));
    } else {
      all.append(exception_of(-has_event[i], text_of(event.text, event.text_size)));
    }
  }
  return all;
}

// (id, logprob, the most likely ones) of the tokens of the prompt, from the second one on.
py::list prompt_logprobs(const Generation& generation) {
  const weft_token_logprobs* tokens = nullptr;
  std::size_t n = 0;
  weft_generation* const handle = generation.get();
  call_with_gil([&](weft_error** error) {
    return weft_generation_get_prompt_logprobs(handle, &tokens, &n, error);
  });
  py::list all;
  for (const weft_token_logprobs* t = tokens; t != tokens + n; ++t) {
    std::vector<std::pair<weft_token, float>> top;
    for (const weft_logprob* one = t->top; one != t->top + t->n_top; ++one)
      top.emplace_back(one->token, one->logprob);
    all.append(py::make_tuple(t->token, t->logprob, top));
  }
  return all;
}

// A text of a diffusion language model.
std::unique_ptr<Diffusion> open_diffusion(const Session& session, std::int32_t sequence,
                                          const py::dict& sampler, const py::dict& given) {
  auto diffusion = std::make_unique<Diffusion>();
  const SamplerOptions with(sampler);
  weft_diffusion_options o;
  weft_diffusion_options_init(&o, sizeof o);
  Options reader(given);
  take_members(reader, o);
  reader.finish("Diffusion()");
  o.sampler = &with.options;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_diffusion_open(handle, sequence, &o, diffusion->out(), error);
  });
  return diffusion;
}

// The options of a session whose steps are wide enough for such texts.
py::dict diffusion_session(const py::dict& given, std::size_t n_prompt, const py::dict& session) {
  weft_diffusion_options o;
  weft_diffusion_options_init(&o, sizeof o);
  Options reader(given);
  take_members(reader, o);
  reader.finish("Diffusion()");
  const auto of_session = session_options(session);
  weft_session_options wide = *of_session;
  call([&](weft_error** error) { return weft_diffusion_fit_session(&o, n_prompt, &wide, error); });
  const py::dict all(session.attr("copy")());
  all["prefill_width"] = wide.prefill_width;
  all["logits_rows"] = wide.logits_rows;
  return all;
}

}  // namespace

void add_generations(py::module_& m) {
  py::class_<Generation>(m.attr("Generation"))
      .def_static("open", &open_text, py::arg("session"), py::arg("sequence"), py::arg("sampler"),
                  py::arg("grammar").none(true), py::arg("stops"),
                  py::arg("speculation").none(true), py::arg("options"))
      .def("begin",
           [](const Generation& g, const py::handle& ids) {
             const auto prompt = ids_of(ids);
             weft_generation* const handle = g.get();
             call([&](weft_error** error) {
               return weft_generation_begin(handle, prompt.data(), prompt.size(), 0, error);
             });
           })
      .def("begin_chat",
           [](const Generation& g, const ChatPlan& plan) {
             weft_generation* const handle = g.get();
             weft_chat_plan* const of = plan.get();
             call([&](weft_error** error) {
               return weft_generation_begin_chat(handle, of, 0, error);
             });
           })
      .def("next", &next_event)
      .def("prompt_logprobs", &prompt_logprobs);
  py::class_<Batch>(m.attr("Batch")).def("step", &step_together);
  py::class_<Diffusion>(m.attr("Diffusion")).def_static("open", &open_diffusion);
  m.def("diffusion_session", &diffusion_session);
}

}  // namespace weft_python
