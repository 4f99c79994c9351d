#include "weft/sample/logprobs.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/sample/sampler.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// A model may have more logits than its vocabulary has tokens.
TokenLogprob with_bytes(const Tokenizer& tokenizer, TokenId id, float logprob) {
  const bool known = id < tokenizer.vocabulary().size();
  return {id, known ? tokenizer.bytes(id) : std::string_view(), logprob};
}

Json as_json(const TokenLogprob& t) {
  constexpr double kImpossible = -9999;
  Json bytes = Json::array();
  for (const char c : t.bytes) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", std::string(t.bytes)},
          {"id", t.token},
          {"logprob", std::isfinite(t.logprob) ? static_cast<double>(t.logprob) : kImpossible},
          {"bytes", std::move(bytes)}};
}

}  // namespace

TokenLogprobs token_logprobs(const Tokenizer& tokenizer, std::span<const float> logits,
                             TokenId chosen, std::size_t n_top) {
  if (chosen < 0 || static_cast<std::size_t>(chosen) >= logits.size())
    fail<ValueError>("token {} is outside the {} logits", chosen, logits.size());
  TokenLogprobs result{with_bytes(tokenizer, chosen, logprob(logits, chosen)), {}};
  for (const Likely& likely : most_likely(logits, n_top))
    result.top.push_back(with_bytes(tokenizer, likely.id, likely.logprob));
  return result;
}

std::string to_json(const TokenLogprobs& logprobs) {
  Json json = as_json(logprobs.chosen);
  json["top_logprobs"] = Json::array();
  for (const TokenLogprob& t : logprobs.top) json["top_logprobs"].push_back(as_json(t));
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace weft
