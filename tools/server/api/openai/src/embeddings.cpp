// POST /v1/embeddings.

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/api/embedding_run.h"
#include "weft/api/endpoints.h"
#include "weft/api/forms.h"
#include "weft/api/json_text.h"
#include "weft/api/prompt_fields.h"
#include "weft/base/json_string.h"
#include "weft/openai/endpoints.h"
#include "weft/run/model.h"

namespace weft::api {
namespace {

struct EmbeddingRequest {
  std::string model;
  std::vector<PromptText> input;
  std::string encoding_format = "float";
  std::optional<std::int64_t> dimensions;
};

const Fields<EmbeddingRequest>& embedding_fields() {
  using R = EmbeddingRequest;
  static const auto table =
      Fields<R>()
          .required("input", &R::input, prompts_form(2048), "Texts or token ids to embed.")
          .add("model", &R::model, text(), "Name of the model; by default, the only one.")
          .add("encoding_format", &R::encoding_format, word({"float", "base64"}),
               "Encoding of the vectors; base64 is that of little-endian float32 numbers.")
          .add("dimensions", &R::dimensions, whole(1, 1 << 20),
               "Length to which vectors are truncated before they are normalized again.");
  return table;
}

std::string vector_json(std::vector<float> values, const EmbeddingRequest& request) {
  values = with_dimensions(std::move(values), request.dimensions);
  return request.encoding_format == "base64" ? base64_json(values) : array_of(values);
}

void answer(const ApiCall& call, const EmbeddingRequest& request, std::vector<Embedding> vectors) {
  std::string data;
  std::int64_t n_tokens = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    n_tokens += vectors[i].n_tokens;
    data += fmt::format(R"({}{{"object":"embedding","index":{},"embedding":{}}})",
                        i == 0 ? "" : ",", i, vector_json(std::move(vectors[i].values), request));
  }
  call.reply(fmt::format(R"({{"object":"list","data":[{}],"model":{},)"
                         R"("usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                         data, json_string(call.model->name), n_tokens, n_tokens));
}

void embeddings(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& model = *call->model;
  EmbeddingRequest request = embedding_fields().read(*call->body);
  require_text_vectors(model);
  std::vector<TypedTokens> texts;
  for (const PromptText& text : request.input) texts.push_back(text_tokens(model, text, "input"));
  run_embeddings(call, std::move(texts), model.embedder, "input",
                 [call, request = std::move(request)](std::vector<Embedding> vectors) {
                   answer(*call, request, std::move(vectors));
                 });
}

}  // namespace

Endpoint embeddings_endpoint() {
  Endpoint endpoint = post_endpoint("/v1/embeddings", "createEmbedding", "Vectors of texts",
                                    embeddings, embedding_fields());
  endpoint.aliases = {"/embeddings"};
  return endpoint;
}

}  // namespace weft::api
