// /rerank and /embedding.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "weft/api/embedding_run.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json_text.h"
#include "weft/api/mixed_prompt.h"
#include "weft/native/endpoints.h"
#include "weft/serve/rerank.h"

namespace weft::api::native {
namespace {

struct RankRequest {
  std::string query;
  std::optional<std::vector<std::string>> documents, texts;
  std::int64_t top_n = 0;
  bool return_documents = false, raw_scores = false, truncate = false;
};

struct Document {
  std::string text;
};

Form<std::string> document() {
  static const auto table =
      Fields<Document>().required("text", &Document::text, text(), "Text of the document.");
  return either(text(),
                convert<std::string>(object(table), [](Document d) { return std::move(d.text); }));
}

const Fields<RankRequest>& rank_fields() {
  static const auto table =
      Fields<RankRequest>()
          .required("query", &RankRequest::query, nonempty_text(),
                    "Query that the documents may answer.")
          .add("documents", &RankRequest::documents, list(document(), 1, 4096),
               "Documents to rank: texts, or objects with one.")
          .add("texts", &RankRequest::texts, list(nonempty_text(), 1, 4096),
               "Documents to rank; the answer is then a list of scores between 0 and 1.")
          .add("top_n", &RankRequest::top_n, whole(0),
               "Number of best documents to return; 0 returns all.")
          .add("return_documents", &RankRequest::return_documents, boolean(),
               "Add the texts of the documents to the answer.")
          .add("return_text", &RankRequest::return_documents, boolean(),
               "Another name of return_documents.")
          .add("raw_scores", &RankRequest::raw_scores, boolean(),
               "Return the outputs of the model instead of scores between 0 and 1, for texts.")
          .add("truncate", &RankRequest::truncate, boolean(),
               "Shorten documents that are too long instead of refusing them.");
  return table;
}

struct Ranked {
  std::vector<std::size_t> order;
  std::vector<float> scores;
  std::int64_t n_tokens = 0;
};

Ranked ranked(const std::vector<Embedding>& texts, std::size_t output, std::size_t top_n) {
  Ranked r;
  for (const Embedding& text : texts) {
    r.scores.push_back(text.values[output]);
    r.n_tokens += text.n_tokens;
  }
  r.order.resize(texts.size());
  std::iota(r.order.begin(), r.order.end(), std::size_t{0});
  std::ranges::stable_sort(r.order, std::ranges::greater(),
                           [&](std::size_t i) { return r.scores[i]; });
  if (top_n > 0 && top_n < r.order.size()) r.order.resize(top_n);
  return r;
}

std::string results(const RankRequest& request, const Ranked& ranked) {
  const bool tei = !request.documents;
  const std::vector<std::string>& texts = tei ? *request.texts : *request.documents;
  JsonArray list;
  for (const std::size_t i : ranked.order) {
    const float score = ranked.scores[i];
    JsonObject row;
    row.add("index", i)
        .add(tei ? "score" : "relevance_score",
             tei && !request.raw_scores ? 1 / (1 + std::exp(-score)) : score);
    if (request.return_documents && tei) row.add("text", texts[i]);
    if (request.return_documents && !tei)
      row.add_json("document", JsonObject().add("text", texts[i]).str());
    list.add_json(row.str());
  }
  return list.str();
}

std::string rank_answer(const ServedModel& model, const RankRequest& request,
                        const std::vector<Embedding>& outputs, std::size_t output) {
  const Ranked r = ranked(outputs, output, static_cast<std::size_t>(request.top_n));
  if (!request.documents) return results(request, r);
  return JsonObject()
      .add("model", model.name)
      .add("object", "list")
      .add_json("usage",
                JsonObject().add("prompt_tokens", r.n_tokens).add("total_tokens", r.n_tokens).str())
      .add_json("results", results(request, r))
      .str();
}

std::size_t require_classifier(const ServedModel& model) {
  try {
    return model.ranking.get(*model.model);
  } catch (const UnsupportedError& error) {
    throw not_supported(error.what());
  }
}

void rerank(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& served = *call->model;
  auto request = std::make_shared<const RankRequest>(rank_fields().read(*call->body));
  if (!request->documents && !request->texts) refuse(Path().member("documents"), "is required");
  if (request->documents && request->texts)
    refuse(Path().member("texts"), "cannot be combined with documents");
  const std::size_t output = require_classifier(served);
  EmbedderOptions options = served.embedder;
  options.pooling = Pooling::rank;
  options.truncate = request->truncate;
  std::vector<TypedTokens> pairs;
  for (const std::string& document : request->documents ? *request->documents : *request->texts) {
    const std::int64_t limit = request->truncate ? served.texts->context() : 0;
    pairs.push_back(naming(request->documents ? "documents" : "texts", [&] {
      return encode_pair(*served.model, request->query, document, limit);
    }));
  }
  run_embeddings(call, std::move(pairs), options, request->documents ? "documents" : "texts",
                 [call, request, output](const std::vector<Embedding>& outputs) {
                   call->reply(rank_answer(*call->model, *request, outputs, output));
                 });
}

struct EmbedRequest {
  std::optional<std::vector<MixedPrompt>> content, input;
  std::int64_t norm = kEuclidean;
};

const Fields<EmbedRequest>& embed_fields() {
  static const auto table =
      Fields<EmbedRequest>()
          .add("content", &EmbedRequest::content, mixed_prompts(),
               "Content to embed: a text, token ids, or a list of these.")
          .add("input", &EmbedRequest::input, mixed_prompts(), "Another name of content.")
          .add("embd_normalize", &EmbedRequest::norm, whole(-1, 64),
               "Norm of the vectors, such as 2 for the Euclidean one; -1 leaves them as they are.");
  return table;
}

// [n, W] as a list of rows.
std::string rows_json(const Embedding& embedding, std::size_t n) {
  const std::size_t width = embedding.values.size() / n;
  JsonArray rows;
  for (std::size_t i = 0; i < n; ++i)
    rows.add_json(array_of(std::span(embedding.values).subspan(i * width, width)));
  return rows.str();
}

std::string list_json(const std::vector<Embedding>& vectors, bool per_token) {
  JsonArray list;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t n = per_token ? static_cast<std::size_t>(vectors[i].n_tokens) : 1;
    list.add_json(
        JsonObject().add("index", i).add_json("embedding", rows_json(vectors[i], n)).str());
  }
  return list.str();
}

void embed(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& served = *call->model;
  const EmbedRequest request = embed_fields().read(*call->body);
  const std::string param = request.content ? "content" : "input";
  const auto& given = request.content ? request.content : request.input;
  if (!given) refuse(Path().member("content"), "is required");
  if (request.content && request.input)
    refuse(Path().member("input"), "cannot be combined with content");
  std::vector<TypedTokens> texts;
  for (const MixedPrompt& prompt : *given)
    texts.push_back(encode_mixed(*served.model, prompt, param));
  EmbedderOptions options = served.embedder;
  options.norm = static_cast<int>(request.norm);
  const bool per_token = pooling_of(served) == Pooling::none;
  run_embeddings(call, std::move(texts), options, param,
                 [call, per_token](const std::vector<Embedding>& vectors) {
                   call->reply(list_json(vectors, per_token));
                 });
}

}  // namespace

std::vector<Endpoint> rank_endpoints() {
  std::vector<Endpoint> endpoints;
  endpoints.push_back(post_endpoint("/rerank", "rerank", "How well documents answer a query",
                                    rerank, rank_fields()));
  endpoints.push_back(post_endpoint("/v1/rerank", "rerankV1", "The same", rerank, rank_fields()));
  endpoints.push_back(post_endpoint("/embedding", "embedding",
                                    "Vectors of texts, in llama-server's form", embed,
                                    embed_fields()));
  return endpoints;
}

}  // namespace weft::api::native
