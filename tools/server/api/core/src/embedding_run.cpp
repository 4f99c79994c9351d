#include "weft/api/embedding_run.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "weft/api/await_result.h"
#include "weft/api/errors.h"
#include "weft/run/model.h"

namespace weft::api {

Poolings pooling_of(const ServedModel& model) {
  return model.embedder.pooling.value_or(file_pooling(*model.model));
}

void require_text_vectors(const ServedModel& model) {
  const Poolings pooling = pooling_of(model);
  if (pooling == Pooling::none || pooling == Pooling::rank)
    throw bad_request("", fmt::format("the model's pooling is \"{}\", which does not give one "
                                      "vector per text{}",
                                      to_string(pooling),
                                      pooling == Pooling::none ? "; /embedding gives all" : ""));
}

TypedTokens text_tokens(const ServedModel& model, const PromptText& text,
                        const std::string& param) {
  if (text.is_ids) return prompt_tokens(model, text, param);
  TypedTokens tokens =
      naming(param, [&] { return model.model->tokenizer().encode_typed(text.text); });
  if (tokens.ids.empty()) throw bad_request(param, "a text has no tokens");
  return tokens;
}

void run_embeddings(std::shared_ptr<ApiCall> call, std::vector<TypedTokens> texts,
                    const EmbedderOptions& options, std::string param,
                    std::function<void(std::vector<Embedding>)> use) {
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  auto vectors = call->model->texts->embed(std::move(texts), options, cancel);
  call->exchange->on_client_left([cancel] { *cancel = true; });
  when_ready(std::move(call), std::move(vectors), std::move(use), std::move(param));
}

std::vector<float> with_dimensions(std::vector<float> values,
                                   std::optional<std::int64_t> dimensions) {
  if (!dimensions) return values;
  if (*dimensions > std::ssize(values))
    throw bad_request("dimensions", fmt::format("the vectors have {} numbers", values.size()));
  values.resize(static_cast<std::size_t>(*dimensions));
  normalize(values, kEuclidean);
  return values;
}

std::string base64_json(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes(values.size_bytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string text = "\"";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text + "\"";
}

}  // namespace weft::api
