// Drafts.
#include <memory>

#include "classes.h"

namespace weft_python {
namespace {

void add_line(void* user, const char* line) {
  static_cast<std::vector<std::string>*>(user)->emplace_back(line);
}

// The speculation, and what the library says about types that it leaves out.
py::tuple open_speculation(const Session& session, const Model* draft_model,
                           const py::object& draft_session, const py::dict& given) {
  auto speculation = std::make_unique<Speculation>();
  std::vector<std::string> lines;
  weft_speculation_options o;
  weft_speculation_options_init(&o, sizeof o);
  Options reader(given);
  take_members(reader, o);
  reader.finish("Speculation()");
  std::shared_ptr<const weft_session_options> of_draft;
  if (!draft_session.is_none()) of_draft = session_options(py::dict(draft_session));
  o.draft_session = of_draft.get();
  o.draft_model = draft_model ? draft_model->get() : nullptr;
  o.log = add_line;
  o.log_user = &lines;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_speculation_open(handle, &o, speculation->out(), error);
  });
  return py::make_tuple(std::move(speculation), lines);
}

}  // namespace

void add_speculations(py::module_& m) {
  py::class_<Speculation>(m.attr("Speculation"))
      .def_static("open", &open_speculation, py::arg("session"), py::arg("draft_model").none(true),
                  py::arg("draft_session"), py::arg("options"));
}

}  // namespace weft_python
