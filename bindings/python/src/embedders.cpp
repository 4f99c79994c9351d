// Embeddings of texts.
#include <algorithm>

#include "classes.h"

namespace weft_python {
namespace {

weft_embedder_info info_of(const Embedder& embedder) {
  weft_embedder_info i{};
  i.struct_size = sizeof i;
  weft_embedder* const handle = embedder.get();
  call([&](weft_error** error) { return weft_embedder_get_info(handle, &i, error); });
  return i;
}

// Beside a session, whose budget it shares.
std::unique_ptr<Embedder> open_embedder(const Model& model, const py::dict& session,
                                        const py::dict& given, const Session* beside) {
  auto embedder = std::make_unique<Embedder>();
  const auto of_session = session_options(session);
  weft_embedder_options o;
  weft_embedder_options_init(&o, sizeof o);
  o.session = of_session.get();
  if (beside != nullptr) o.beside = beside->get();
  Options reader(given);
  take_members(reader, o);
  reader.finish("Embedder()");
  weft_model* const handle = model.get();
  call([&](weft_error** error) { return weft_embedder_open(handle, &o, embedder->out(), error); });
  return embedder;
}

constexpr std::int32_t kNoNorm = -1, kEuclidean = 2;

// A copy of an embedding, [width] or without pooling [n, width], and the tokens of its text.
py::tuple copy_of(const weft_embedding& one, const weft_embedder_info& i) {
  const auto n = static_cast<py::ssize_t>(one.n_values);
  std::vector<py::ssize_t> shape{n};
  if (std::string_view(i.pooling) == "none") shape = {n / i.width, i.width};
  py::array_t<float> values(shape);
  std::copy_n(one.values, one.n_values, values.mutable_data());
  return py::make_tuple(values, one.n_tokens);
}

py::list embed(const Embedder& embedder, const std::vector<std::string>& texts, bool normalize,
               bool truncate) {
  weft_embedder* const e = embedder.get();
  std::vector<weft_string> given;
  for (const std::string& text : texts) given.push_back({text.data(), text.size()});
  std::vector<weft_embedding> found(texts.size());
  const weft_embedder_info i = info_of(embedder);
  call([&](weft_error** error) {
    const std::int32_t norm = normalize ? kEuclidean : kNoNorm;
    const weft_status status = weft_embedder_set_output(e, norm, truncate, error);
    if (status != WEFT_SUCCESS) return status;
    return weft_embedder_embed(e, given.data(), given.size(), found.data(), error);
  });
  py::list all;
  for (const weft_embedding& one : found) all.append(copy_of(one, i));
  return all;
}

py::tuple embed_tokens(const Embedder& embedder, const std::vector<weft_token>& tokens,
                       bool normalize) {
  weft_embedder* const e = embedder.get();
  weft_embedding found{};
  const weft_embedder_info i = info_of(embedder);
  call([&](weft_error** error) {
    const std::int32_t norm = normalize ? kEuclidean : kNoNorm;
    const weft_status status = weft_embedder_set_output(e, norm, 0, error);
    if (status != WEFT_SUCCESS) return status;
    return weft_embedder_embed_tokens(e, tokens.data(), tokens.size(), &found, error);
  });
  return copy_of(found, i);
}

// (index, score, tokens) of the documents, best first.
std::vector<std::tuple<std::size_t, float, std::int64_t>> rerank(
    const Embedder& embedder, const std::string& query, const std::vector<std::string>& documents,
    bool truncate) {
  weft_embedder* const e = embedder.get();
  std::vector<weft_string> given;
  for (const std::string& text : documents) given.push_back({text.data(), text.size()});
  std::vector<weft_rerank_score> scores(documents.size());
  call([&](weft_error** error) {
    const weft_status status = weft_embedder_set_output(e, kNoNorm, truncate, error);
    if (status != WEFT_SUCCESS) return status;
    return weft_embedder_rerank(e, query.data(), query.size(), given.data(), given.size(),
                                scores.data(), error);
  });
  std::vector<std::tuple<std::size_t, float, std::int64_t>> all;
  for (const weft_rerank_score& s : scores) all.emplace_back(s.index, s.score, s.n_tokens);
  return all;
}

}  // namespace

void add_embedders(py::module_& m) {
  py::class_<Embedder>(m.attr("Embedder"))
      .def_static("open",
                  [](const Model& model, const py::dict& session, const py::dict& given) {
                    return open_embedder(model, session, given, nullptr);
                  })
      .def_static("open", &open_embedder)
      .def("embed", &embed)
      .def("embed_tokens", &embed_tokens)
      .def("rerank", &rerank)
      .def("width", [](const Embedder& e) { return info_of(e).width; });
}

}  // namespace weft_python
