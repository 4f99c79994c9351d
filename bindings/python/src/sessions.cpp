// Sessions and their sequences.
#include <algorithm>
#include <memory>

#include "native.h"

namespace weft_python {

py::array_t<float> rows_of(const Session& session, float* data, std::vector<py::ssize_t> shape) {
  weft_session* shared = nullptr;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_share(handle, &shared, error); });
  const py::capsule keeps(
      shared, [](void* freed) { weft_session_free(static_cast<weft_session*>(freed)); });
  return py::array_t<float>(std::move(shape), data, keeps);
}

namespace {

struct SessionOptions {
  explicit SessionOptions(const py::dict& given) : reader(given) {
    weft_session_options& o = options;
    weft_session_options_init(&o, sizeof o);
    o.poll = poll_signals;
    progress = py::reinterpret_borrow<py::object>(reader.find("progress"));
    if (progress && !progress.is_none()) {
      o.progress = call_progress;
      o.progress_user = progress.ptr();
    }
    reader.take("sequences", o.sequences).take("context", o.context).take("cells", o.cells);
    reader.take("prefill_width", o.prefill_width).take("logits_rows", o.logits_rows);
    reader.take("workers", o.workers).take("weights", o.weights).take("backend", o.backend);
    reader.take("route", o.route).take("cache_k", o.cache_k).take("cache_v", o.cache_v);
    reader.take("weight_cache", o.weight_cache).take("passes_off", o.passes_off);
    reader.take("expert_usage", o.expert_usage);
    reader.take("executor", o.executor).take("mem_budget", o.mem_budget);
    reader.take("caller_bytes", o.caller_bytes).take("embeddings", o.embeddings);
    reader.take("rewind", o.rewind).take("draft_layer", o.draft_layer);
    reader.finish("Session()");
  }
  weft_session_options options{};
  Options reader;
  py::object progress;
};

std::unique_ptr<Session> open_session(const Model& model, const py::dict& given) {
  auto session = std::make_unique<Session>();
  const SessionOptions o(given);
  weft_model* const handle = model.get();
  call([&](weft_error** error) {
    return weft_session_open(handle, &o.options, session->out(), error);
  });
  return session;
}

weft_session_info read_info(const Session& session) {
  weft_session_info i{};
  i.struct_size = sizeof i;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_get_info(handle, &i, error); });
  return i;
}

py::dict info_of_session(const Session& session) {
  const weft_session_info i = read_info(session);
  using namespace py::literals;
  return py::dict("sequences"_a = i.sequences, "context"_a = i.context,
                  "prefill_width"_a = i.prefill_width, "logits_rows"_a = i.logits_rows,
                  "row_width"_a = i.row_width, "allocated_bytes"_a = i.allocated_bytes,
                  "workers"_a = i.workers, "embeddings"_a = i.embeddings);
}

py::array_t<float> logits(const Session& session) {
  float* data = nullptr;
  std::size_t n = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_get_logits(handle, &data, &n, error); });
  return rows_of(session, data, {static_cast<py::ssize_t>(n)});
}

void feed_ids(const Session& session, std::int32_t sequence, const py::handle& ids) {
  const auto tokens = ids_of(ids);
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_feed(handle, sequence, tokens.data(), tokens.size(), nullptr, nullptr,
                             error);
  });
}

// One step, with a row for every token.
py::array_t<float> step(const Session& session, std::int32_t sequence, const py::handle& ids) {
  std::vector<weft_step_token> tokens;
  for (const weft_token id : ids_of(ids)) tokens.push_back({id, sequence, 1, 0});
  float* rows = nullptr;
  std::size_t n_rows = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_step(handle, tokens.data(), tokens.size(), &rows, &n_rows, error);
  });
  const auto width = static_cast<py::ssize_t>(read_info(session).row_width);
  return rows_of(session, rows, {static_cast<py::ssize_t>(n_rows), width});
}

std::int64_t length_of(const Session& session, std::int32_t sequence) {
  std::int64_t n = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_get_length(handle, sequence, &n, error); });
  return n;
}

// The ids that a sequence holds.
std::vector<weft_token> tokens_of(const Session& session, std::int32_t sequence) {
  weft_session* const handle = session.get();
  weft_session* shared = nullptr;  // stays if another thread closes the session
  call([&](weft_error** error) { return weft_session_share(handle, &shared, error); });
  const std::unique_ptr<weft_session, decltype(&weft_session_free)> keeps(shared,
                                                                          &weft_session_free);
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  call([&](weft_error** error) {
    return weft_session_get_tokens(shared, sequence, &tokens, &n, error);
  });
  return {tokens, tokens + n};
}

// How many of the ids, from the first one on, it holds.
std::size_t common_prefix(const Session& session, std::int32_t sequence, const py::handle& ids) {
  const auto given = ids_of(ids);
  weft_session* const handle = session.get();
  std::size_t n = 0;
  call([&](weft_error** error) {
    return weft_session_get_common_prefix(handle, sequence, given.data(), given.size(), &n, error);
  });
  return n;
}

py::bytes save(const Session& session, std::int32_t sequence) {
  Text bytes;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_save(handle, sequence, nullptr, 0, nullptr, 0, bytes.out(), error);
  });
  return bytes.bytes();
}

void restore(const Session& session, std::int32_t sequence, const py::bytes& bytes) {
  const std::string_view all = bytes;
  weft_session* const handle = session.get();
  weft_saved* saved = nullptr;
  call([&](weft_error** error) {
    return weft_saved_open_memory(all.data(), all.size(), &saved, error);
  });
  weft_error* error = nullptr;
  weft_status status = WEFT_SUCCESS;
  without_gil([&] {
    status = weft_saved_restore(saved, handle, sequence, -1, &error);
    weft_saved_free(saved);
  });
  finish(status, error);
}

template <weft_status (*F)(weft_session*, std::int64_t, weft_text*, weft_error**)>
py::str text_of_plan(const Session& session, std::int64_t n_tokens) {
  Text text;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return F(handle, n_tokens, text.out(), error); });
  return text.str();
}

std::uint64_t hash_of_plan(const Session& session, std::int64_t n_tokens) {
  std::uint64_t hash = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_get_plan_hash(handle, n_tokens, &hash, error);
  });
  return hash;
}

void set_lora_scales(const Session& session, std::int32_t sequence,
                     const std::vector<float>& scales) {
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_set_lora_scales(handle, sequence, scales.data(), scales.size(), error);
  });
}

// One step, measured: JSON and the picture of the lanes.
py::tuple profile(const Session& session, std::int32_t sequence, const py::handle& ids) {
  const auto tokens = ids_of(ids);
  Text json, svg;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_profile(handle, sequence, tokens.data(), tokens.size(), json.out(),
                                svg.out(), error);
  });
  return py::make_tuple(json.str(), svg.str());
}

}  // namespace

std::shared_ptr<const weft_session_options> session_options(const py::dict& given) {
  const auto all = std::make_shared<const SessionOptions>(given);
  return {all, &all->options};
}

void add_sessions(py::module_& m) {
  py::class_<Session>(m, "Session")
      .def_static("open", &open_session)
      .def("close", &Session::close)
      .def_property_readonly("closed", &Session::closed)
      .def("info", &info_of_session)
      .def("feed", &feed_ids)
      .def("step", &step)
      .def("logits", &logits)
      .def("length", &length_of)
      .def("tokens", &tokens_of)
      .def("common_prefix", &common_prefix)
      .def("truncate",
           [](const Session& s, std::int32_t sequence, std::int64_t n) {
             weft_session* const handle = s.get();
             call([&](weft_error** error) {
               return weft_session_truncate(handle, sequence, n, error);
             });
           })
      .def(
          "copy",
          [](const Session& s, std::int32_t from, std::int32_t to, std::int64_t n) {
            weft_session* const handle = s.get();
            call([&](weft_error** error) { return weft_session_copy(handle, from, to, n, error); });
          })
      .def("set_lora_scales", &set_lora_scales)
      .def("save", &save)
      .def("restore", &restore)
      .def("cancel", [](const Session& s) { weft_session_cancel(s.get()); })
      .def("plan_json", &text_of_plan<weft_session_plan_json>)
      .def("plan_svg", &text_of_plan<weft_session_plan_svg>)
      .def("plan_hash", &hash_of_plan)
      .def("profile", &profile);
}

}  // namespace weft_python
