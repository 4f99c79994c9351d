// Options of what writes files, and of what measures.
#include "classes.h"

namespace weft_python {
namespace {

// For `log`: calls the callable `user` with a line.
void call_log(void* user, const char* line) {
  in_python<std::int32_t>(0, [&] {
    py::handle(static_cast<PyObject*>(user))(text_of(line));
    return 0;
  });
}

// The callable of this name as the `user` of its callbacks; null if there is none.
void* find_callable(Options& reader, const char* name) {
  const py::handle given = reader.find(name);
  return given ? user_of(py::reinterpret_borrow<py::object>(given)) : nullptr;
}

}  // namespace

QuantizeOptions::QuantizeOptions(const py::dict& given) : reader(given) {
  weft_quantize_options_init(&options, sizeof options);
  take_members(reader, options);
  options.progress = call_progress;  // which looks for signals in any case
  options.progress_user = find_callable(reader, "progress");
  options.log_user = find_callable(reader, "log");
  if (options.log_user) options.log = call_log;
  reader.finish("quantize()");
}

BenchOptions::BenchOptions(const py::dict& given) : reader(given) {
  weft_bench_options_init(&options, sizeof options);
  take_members(reader, options);
  if (const py::handle of = reader.find("session"); of && !of.is_none()) {
    session = session_options(py::cast<py::dict>(of));
    options.session = session.get();
  }
  reader.finish("bench()");
}

}  // namespace weft_python
