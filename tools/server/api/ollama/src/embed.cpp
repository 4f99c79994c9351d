// /api/embed and /api/embeddings.

#include <algorithm>
#include <optional>

#include "weft/api/embedding_run.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json_text.h"
#include "weft/base/clock.h"
#include "weft/ollama/endpoints.h"

namespace weft::api::ollama {
namespace {

struct EmbedRequest {
  std::string model;
  std::vector<std::string> input;
  bool truncate = true;
  std::optional<std::int64_t> dimensions;
};

const Fields<EmbedRequest>& embed_fields() {
  static const auto table =
      Fields<EmbedRequest>()
          .add("model", &EmbedRequest::model, text(), "Name of the model, also with :latest.")
          .required("input", &EmbedRequest::input, one_or_list(text()),
                    "Text to embed, or a list of texts.")
          .add("truncate", &EmbedRequest::truncate, boolean(),
               "Shorten texts that are too long instead of refusing them.")
          .add("dimensions", &EmbedRequest::dimensions, whole(1),
               "Length to which vectors are truncated before they are normalized again.");
  return table;
}

const Fields<EmbedRequest>& old_fields() {
  static const auto table =
      Fields<EmbedRequest>()
          .add("model", &EmbedRequest::model, text(), "Name of the model, also with :latest.")
          .required("prompt", &EmbedRequest::input,
                    convert<std::vector<std::string>>(
                        text(), [](std::string text) { return std::vector{std::move(text)}; }),
                    "Text to embed.");
  return table;
}

void start(const std::shared_ptr<ApiCall>& call, const EmbedRequest& request, const char* param,
           std::function<void(std::vector<Embedding>)> use) {
  const ServedModel& served = *call->model;
  require_text_vectors(served);
  EmbedderOptions options = served.embedder;
  options.truncate = request.truncate;
  std::vector<TypedTokens> texts;
  for (const std::string& text : request.input)
    texts.push_back(text_tokens(served, {.text = text, .ids = {}}, param));
  run_embeddings(call, std::move(texts), options, param, std::move(use));
}

std::string vector_json(const Embedding& embedding, const EmbedRequest& request) {
  return array_of(with_dimensions(embedding.values, request.dimensions));
}

void embed(const std::shared_ptr<ApiCall>& call) {
  const auto begin = Clock::now();
  auto request = std::make_shared<const EmbedRequest>(embed_fields().read(*call->body));
  start(call, *request, "input", [call, request, begin](const std::vector<Embedding>& vectors) {
    JsonArray list;
    std::int64_t n_tokens = 0;
    for (const Embedding& vector : vectors) {
      list.add_json(vector_json(vector, *request));
      n_tokens += vector.n_tokens;
    }
    call->reply(JsonObject()
                    .add("model", call->model->name)
                    .add_json("embeddings", list.str())
                    .add("total_duration", static_cast<std::int64_t>(seconds_since(begin) * 1e9))
                    .add("load_duration", 0)
                    .add("prompt_eval_count", n_tokens)
                    .str());
  });
}

void embed_one(const std::shared_ptr<ApiCall>& call) {
  auto request = std::make_shared<const EmbedRequest>(old_fields().read(*call->body));
  start(call, *request, "prompt", [call, request](const std::vector<Embedding>& vectors) {
    call->reply(JsonObject().add_json("embedding", vector_json(vectors.front(), *request)).str());
  });
}

}  // namespace

std::vector<Endpoint> embed_endpoints() {
  return {post_endpoint("/api/embed", "ollamaEmbed", "Vectors of texts", embed, embed_fields(),
                        ModelUse::listed),
          post_endpoint("/api/embeddings", "ollamaEmbeddings", "The vector of a text", embed_one,
                        old_fields(), ModelUse::listed)};
}

}  // namespace weft::api::ollama
