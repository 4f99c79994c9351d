#pragma once
// The fields of requests that all interfaces share: sampling, stop strings, lengths. Names are
// OpenAI's, llama-server's and vLLM's; other interfaces fill the same struct from tables of their
// own.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/context.h"
#include "weft/api/fields.h"
#include "weft/api/forms.h"

namespace weft::api {

// The bias of one token, or of each token of a text.
struct TokenBias {
  std::int64_t id = -1;
  std::string text = {};  // instead of an id; empty: `id` counts
  float bias = 0;         // -inf: never
};
using Bias = std::vector<TokenBias>;

struct GenerationFields {
  SamplerOptions sampler;  // initially the model's; biases, breakers and seed are set later
  std::optional<std::int64_t> seed;        // -1 and absent: random
  std::optional<std::int64_t> max_tokens;  // 0: nothing is generated
  std::int64_t t_max_predict_ms = 0;       // below 1: no limit
  std::int64_t n = 1;                      // choices
  std::vector<std::string> stop;
  GenerationOptions generation;  // its knobs, except for max_tokens
  std::vector<std::int64_t> stop_token_ids;
  std::vector<std::string> bad_words;  // never completed
  bool skip_special_tokens = true;     // control tokens are not shown
  Bias logit_bias;
  std::vector<std::string> dry_sequence_breakers;  // initially the model's
  bool cache_prompt = true;
  std::int64_t n_cache_reuse = 0;
  bool likely_again = false;  // set by fields of interfaces: TextRequest::likely_again
  std::string cache_salt;
  std::int64_t id_slot = -1;
  std::int64_t priority = 0;  // as in vLLM: lower ones first
  bool stream = false;
  bool return_progress = false;
  bool timings_per_token = false;
  std::string_view place = {};  // before the names of fields in errors: "options."
};

// With the model's defaults.
GenerationFields initial_generation(const ServedModel& model);
// A request before its fields are read: with the model's defaults. Request: has GenerationFields as
// a base.
template <class Request>
Request initial_request(const ServedModel& model) {
  Request request;
  static_cast<GenerationFields&>(request) = initial_generation(model);
  return request;
}

// The sampler's parameters, seed, logit_bias, and the rules of the text that no interface defines
// in a way of its own. Every interface takes them, whether its specification has them or not.
const Fields<GenerationFields>& sampling_fields();
// Everything that chat completions and completions have in common, except max_tokens.
const Fields<GenerationFields>& generation_fields();
// The sentences of sampler_texts(), and of generation_knobs() and generation_texts(), for fields
// that interfaces define themselves. REQUIRES: there is one with this name.
std::string sampler_doc(std::string_view name);
std::string generation_doc(std::string_view name);
// {"15": -100, "Hello": -1} or [[15, -100], ["Hello", -1]]; false: never. Wrong values are errors
// of the whole field.
Form<Bias> bias_form(double limit = 100);
// A number of tokens from `min`; -1: no limit. any_token_limit(): from 0; -1 and -2: no limit.
Form<std::optional<std::int64_t>> token_limit(std::int64_t min);
Form<std::optional<std::int64_t>> any_token_limit();
// The most tokens that may be requested, and all names of the field that requests them.
std::int64_t max_token_limit();
std::vector<std::string_view> token_limit_names();
// A list of texts, without empty ones; stop_form(): or one text.
Form<std::vector<std::string>> stops_form();
Form<std::vector<std::string>> stop_form();

// GenerationFields::cache_salt, wherever a request has one.
inline constexpr std::string_view kCacheSaltDoc =
    "Share what is kept of prompts only with requests that have the same text here.";
Form<std::string> cache_salt_form();

// Throws ApiError 400 with `prompt_param` if one request has too many choices: `n` of each prompt.
void check_n_choices(std::size_t n_prompts, std::size_t n, std::string_view prompt_param);

// The request to the engine. Throws ApiError for ids that the vocabulary does not have, duplicate
// ids of biases and an unknown slot; context_exceeded(prompt_param) for a prompt that does not fit.
// `logprobs`: GenerationOptions::logprobs. `owner` is the cache_salt; run_texts() puts the client
// in front of it.
TextRequest text_request(const ServedModel& model, const GenerationFields& fields,
                         std::vector<TokenId> prompt, int logprobs, std::string_view prompt_param);

}  // namespace weft::api
