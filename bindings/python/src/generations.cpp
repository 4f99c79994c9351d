// Texts.
#include <memory>

#include "classes.h"

namespace weft_python {
namespace {

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
  reader.finish("generate()");
  std::vector<weft_string> texts;
  for (const std::string& stop : stops) texts.push_back({stop.data(), stop.size()});
  o.stops = texts.data();
  o.n_stops = static_cast<std::uint32_t>(texts.size());
  o.sampler = &with.options;
  o.grammar = grammar ? grammar->get() : nullptr;
  o.speculation = speculation ? speculation->get() : nullptr;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_generation_open(handle, sequence, &o, generation->out(), error);
  });
  return generation;
}

// (text, token, stop)
py::tuple next_event(const Generation& generation) {
  weft_generation_event event{};
  event.struct_size = sizeof event;
  weft_generation* const handle = generation.get();
  call([&](weft_error** error) { return weft_generation_next(handle, &event, error); });
  // Models may generate any bytes.
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(event.text, static_cast<Py_ssize_t>(event.text_size), "replace"));
  if (!text) throw py::error_already_set();
  return py::make_tuple(text, event.token, event.stop);
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
      .def("next", &next_event);
  py::class_<Diffusion>(m.attr("Diffusion")).def_static("open", &open_diffusion);
}

}  // namespace weft_python
