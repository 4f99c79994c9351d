#pragma once
// Vectors of texts, for every interface that gives them.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/api/endpoints.h"
#include "weft/api/prompt_fields.h"

namespace weft::api {

Poolings pooling_of(const ServedModel& model);
// Throws ApiError 400 unless the model gives one vector for each text.
void require_text_vectors(const ServedModel& model);

// With the tokens that the vocabulary adds to texts. Throws ApiError 400 with `param`.
TypedTokens text_tokens(const ServedModel& model, const PromptText& text, const std::string& param);

// Computes vectors and passes them to `use` on a preparing thread; errors are answered, also those
// that `use` throws. `options`: usually those of the model. `param` names the field with the texts.
// Returns at once.
void run_embeddings(std::shared_ptr<ApiCall> call, std::vector<TypedTokens> texts,
                    const EmbedderOptions& options, std::string param,
                    std::function<void(std::vector<Embedding>)> use);

// The first `dimensions` values, normalized again; all if the request has no such field. Throws
// ApiError 400 if there are fewer.
std::vector<float> with_dimensions(std::vector<float> values,
                                   std::optional<std::int64_t> dimensions);

std::string base64_json(std::span<const float> values);  // "AAAAPw=="

}  // namespace weft::api
