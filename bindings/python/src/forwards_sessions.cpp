// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "classes.h"

namespace weft_python {
namespace {

std::unique_ptr<Session> session_open(const Model& model, const py::dict& options) {
  const auto c_options = session_options(options);
  weft_model* const c_model = model.get();
  auto session = std::make_unique<Session>();
  call([&](weft_error** error) {
    return weft_session_open(c_model, c_options.get(), session->out(), error);
  });
  return session;
}

void session_cancel(const Session& session) {
  weft_session* const c_session = session.get();
  weft_session_cancel(c_session);
}

py::dict session_get_info(const Session& session) {
  weft_session* const c_session = session.get();
  weft_session_info info{};
  info.struct_size = sizeof info;
  call_with_gil([&](weft_error** error) { return weft_session_get_info(c_session, &info, error); });
  return dict_of(info);
}

py::str session_json(const Session& session) {
  weft_session* const c_session = session.get();
  Text json;
  call([&](weft_error** error) { return weft_session_json(c_session, json.out(), error); });
  return json.str();
}

py::str session_plan_json(const Session& session, std::int64_t n_tokens) {
  weft_session* const c_session = session.get();
  Text json;
  call([&](weft_error** error) {
    return weft_session_plan_json(c_session, n_tokens, json.out(), error);
  });
  return json.str();
}

std::uint64_t session_get_plan_hash(const Session& session, std::int64_t n_tokens) {
  weft_session* const c_session = session.get();
  std::uint64_t hash = 0;
  call([&](weft_error** error) {
    return weft_session_get_plan_hash(c_session, n_tokens, &hash, error);
  });
  return hash;
}

py::str session_dot(const Session& session, std::int64_t n_tokens) {
  weft_session* const c_session = session.get();
  Text dot;
  call([&](weft_error** error) { return weft_session_dot(c_session, n_tokens, dot.out(), error); });
  return dot.str();
}

py::str session_plan_svg(const Session& session, std::int64_t n_tokens) {
  weft_session* const c_session = session.get();
  Text svg;
  call([&](weft_error** error) {
    return weft_session_plan_svg(c_session, n_tokens, svg.out(), error);
  });
  return svg.str();
}

py::tuple session_profile(const Session& session, std::int32_t sequence, const py::handle& tokens) {
  const auto c_tokens = ids_of(tokens);
  weft_session* const c_session = session.get();
  Text json;
  Text svg;
  call([&](weft_error** error) {
    return weft_session_profile(c_session, sequence, c_tokens.data(), c_tokens.size(), json.out(),
                                svg.out(), error);
  });
  return py::make_tuple(json.str(), svg.str());
}

void session_encode(const Session& session, std::int32_t sequence, const py::handle& tokens) {
  const auto c_tokens = ids_of(tokens);
  weft_session* const c_session = session.get();
  call([&](weft_error** error) {
    return weft_session_encode(c_session, sequence, c_tokens.data(), c_tokens.size(), error);
  });
}

std::int64_t session_get_length(const Session& session, std::int32_t sequence) {
  weft_session* const c_session = session.get();
  std::int64_t length = 0;
  call([&](weft_error** error) {
    return weft_session_get_length(c_session, sequence, &length, error);
  });
  return length;
}

std::size_t session_get_common_prefix(const Session& session, std::int32_t sequence,
                                      const py::handle& tokens) {
  const auto c_tokens = ids_of(tokens);
  weft_session* const c_session = session.get();
  std::size_t n_common = 0;
  call([&](weft_error** error) {
    return weft_session_get_common_prefix(c_session, sequence, c_tokens.data(), c_tokens.size(),
                                          &n_common, error);
  });
  return n_common;
}

void session_truncate(const Session& session, std::int32_t sequence, std::int64_t length) {
  weft_session* const c_session = session.get();
  call([&](weft_error** error) {
    return weft_session_truncate(c_session, sequence, length, error);
  });
}

std::int64_t session_get_resume_point(const Session& session, std::int32_t sequence,
                                      std::int64_t length) {
  weft_session* const c_session = session.get();
  std::int64_t resume_point = 0;
  call([&](weft_error** error) {
    return weft_session_get_resume_point(c_session, sequence, length, &resume_point, error);
  });
  return resume_point;
}

void session_copy(const Session& session, std::int32_t from, std::int32_t to, std::int64_t length) {
  weft_session* const c_session = session.get();
  call([&](weft_error** error) { return weft_session_copy(c_session, from, to, length, error); });
}

void session_set_lora_scales(const Session& session, std::int32_t sequence,
                             const py::handle& scales) {
  const Numbers c_scales(scales, "scales");
  weft_session* const c_session = session.get();
  call([&](weft_error** error) {
    return weft_session_set_lora_scales(c_session, sequence, c_scales.data(), c_scales.size(),
                                        error);
  });
}

std::vector<float> session_get_lora_scales(const Session& session, std::int32_t sequence) {
  weft_session* const c_session = session.get();
  const float* scales = nullptr;
  std::size_t n = 0;
  call_with_gil([&](weft_error** error) {
    return weft_session_get_lora_scales(c_session, sequence, &scales, &n, error);
  });
  return std::vector<float>(scales, scales + n);
}

py::bytes session_save(const Session& session, std::int32_t sequence, const py::handle& tokens,
                       const py::handle& note) {
  const auto c_tokens = ids_of(tokens);
  const std::string c_note = bytes_of(note, "note");
  weft_session* const c_session = session.get();
  Text bytes;
  call([&](weft_error** error) {
    return weft_session_save(c_session, sequence, c_tokens.data(), c_tokens.size(), c_note.data(),
                             c_note.size(), bytes.out(), error);
  });
  return bytes.bytes();
}

void session_save_file(const Session& session, std::int32_t sequence, const py::handle& tokens,
                       const py::handle& note, const py::handle& path) {
  const auto c_tokens = ids_of(tokens);
  const std::string c_note = bytes_of(note, "note");
  const auto c_path = c_text_of(path, "path");
  weft_session* const c_session = session.get();
  call([&](weft_error** error) {
    return weft_session_save_file(c_session, sequence, c_tokens.data(), c_tokens.size(),
                                  c_note.data(), c_note.size(), c_path.c_str(), error);
  });
}

std::unique_ptr<Saved> saved_open_memory(const py::bytes& data) {
  const std::string_view c_data = data;
  auto saved = std::make_unique<Saved>();
  call([&](weft_error** error) {
    return weft_saved_open_memory(c_data.data(), c_data.size(), saved->out(), error);
  });
  return saved;
}

std::unique_ptr<Saved> saved_open(const py::handle& path) {
  const auto c_path = c_text_of(path, "path");
  auto saved = std::make_unique<Saved>();
  call([&](weft_error** error) { return weft_saved_open(c_path.c_str(), saved->out(), error); });
  return saved;
}

std::vector<weft_token> saved_get_tokens(const Saved& saved) {
  weft_saved* const c_saved = saved.get();
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  call_with_gil(
      [&](weft_error** error) { return weft_saved_get_tokens(c_saved, &tokens, &n, error); });
  return std::vector<weft_token>(tokens, tokens + n);
}

py::bytes saved_get_note(const Saved& saved) {
  weft_saved* const c_saved = saved.get();
  const char* note = nullptr;
  std::size_t size = 0;
  call_with_gil(
      [&](weft_error** error) { return weft_saved_get_note(c_saved, &note, &size, error); });
  return py::bytes(note, size);
}

void saved_restore(const Saved& saved, const Session& session, std::int32_t sequence,
                   std::int64_t n_tokens) {
  weft_saved* const c_saved = saved.get();
  weft_session* const c_session = session.get();
  call([&](weft_error** error) {
    return weft_saved_restore(c_saved, c_session, sequence, n_tokens, error);
  });
}

std::int64_t saved_get_resume_point(const Saved& saved, const Session& session,
                                    std::int64_t n_tokens) {
  weft_saved* const c_saved = saved.get();
  weft_session* const c_session = session.get();
  std::int64_t resume_point = 0;
  call([&](weft_error** error) {
    return weft_saved_get_resume_point(c_saved, c_session, n_tokens, &resume_point, error);
  });
  return resume_point;
}

py::dict speculation_get_info(const Speculation& speculation, const py::handle& type) {
  const auto c_type = optional_c_text_of(type, "type");
  weft_speculation* const c_speculation = speculation.get();
  weft_speculation_info info{};
  info.struct_size = sizeof info;
  call_with_gil([&](weft_error** error) {
    return weft_speculation_get_info(c_speculation, c_str_of(c_type), &info, error);
  });
  return dict_of(info);
}

}  // namespace

void add_forwards_of_sessions(py::module_& m) {
  py::class_<Session>(m.attr("Session"))
      .def_static("open", &session_open)
      .def("cancel", &session_cancel)
      .def("info", &session_get_info)
      .def("json", &session_json)
      .def("plan_json", &session_plan_json)
      .def("plan_hash", &session_get_plan_hash)
      .def("dot", &session_dot)
      .def("plan_svg", &session_plan_svg)
      .def("profile", &session_profile)
      .def("encode", &session_encode)
      .def("length", &session_get_length)
      .def("common_prefix", &session_get_common_prefix)
      .def("truncate", &session_truncate)
      .def("resume_point", &session_get_resume_point)
      .def("copy", &session_copy)
      .def("set_lora_scales", &session_set_lora_scales)
      .def("lora_scales", &session_get_lora_scales)
      .def("save", &session_save)
      .def("save_file", &session_save_file);
  py::class_<Saved>(m.attr("Saved"))
      .def_static("open_memory", &saved_open_memory)
      .def_static("open", &saved_open)
      .def("tokens", &saved_get_tokens)
      .def("note", &saved_get_note)
      .def("restore", &saved_restore)
      .def("resume_point", &saved_get_resume_point);
  py::class_<Speculation>(m.attr("Speculation")).def("info", &speculation_get_info);
}

}  // namespace weft_python
