// POST /v1/completions: the request.

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/chat_job.h"
#include "weft/api/constraint_fields.h"
#include "weft/api/endpoints.h"
#include "weft/api/generation_fields.h"
#include "weft/api/infill_prompt.h"
#include "weft/api/prompt_fields.h"
#include "weft/openai/endpoints.h"
#include "weft/run/model.h"

#include "completion_answers.h"
#include "stream_options.h"

namespace weft::api {
namespace {

constexpr std::int64_t kDefaultTokens = 16;

struct CompletionRequest : GenerationFields, ConstraintFields {
  std::vector<PromptText> prompts;
  std::string model, suffix;
  bool echo = false;
  std::optional<std::int64_t> logprobs, best_of;
  Constraint response_format;
  StreamOptions stream_options;
};

const Fields<CompletionRequest>& completion_fields() {
  using R = CompletionRequest;
  static const auto table =
      Fields<R>()
          .required("prompt", &R::prompts, prompts_form(), "Texts or token ids to continue.")
          .add("model", &R::model, text(), "Name of the model; by default, the only one.")
          .add("max_tokens", &R::max_tokens, token_limit(0),
               "Number of tokens to generate at most; by default, 16.")
          .aliases(token_limit_names(), "max_tokens")
          .include(generation_fields())
          .add("echo", &R::echo, boolean(), "Begin the answer with the prompt.")
          .add("logprobs", &R::logprobs, whole(0, 20),
               "Number of most likely tokens to report with each token, which is reported too; "
               "with echo, also those of the prompt.")
          .add("best_of", &R::best_of, whole(1, 128),
               "Number of texts to generate; the n most likely ones are returned.")
          .add("suffix", &R::suffix, text(), "Text that follows the generated one.")
          .add("stream_options", &R::stream_options, stream_options_form(),
               "Options of streams: additional contents besides the answer.")
          .add("response_format", &R::response_format, response_format_form(),
               "Format of the text; schemas are always enforced.")
          .include(constraint_fields());
  return table;
}

CompletionAnswerOptions answer_options(const CompletionRequest& request) {
  CompletionAnswerOptions answer{.n = static_cast<std::size_t>(request.n),
                                 .best_of = static_cast<std::size_t>(request.n),
                                 .logprobs = static_cast<int>(request.logprobs.value_or(-1)),
                                 .echo = request.echo,
                                 .prompts = {},
                                 .include_usage = request.stream_options.include_usage};
  if (!request.best_of) return answer;
  const Path root;
  const Path param = root.member("best_of");
  if (*request.best_of < request.n) refuse(param, "must not be less than n");
  if (*request.best_of > request.n && request.stream)
    refuse(param, "the best of several cannot be streamed");
  answer.best_of = static_cast<std::size_t>(*request.best_of);
  return answer;
}

TextRequest request_for(const ServedModel& model, const CompletionRequest& request,
                        const CompletionAnswerOptions& answer, const PromptText& prompt,
                        EchoedPrompt* echoed) {
  std::vector<TokenId> tokens = request.suffix.empty()
                                    ? prompt_tokens(model, prompt, "prompt")
                                    : infill_prompt_of_suffix(model, prompt, request.suffix);
  if (echoed)
    *echoed = {prompt.is_ids ? model.model->tokenizer().decode(tokens) : prompt.text, tokens};
  const int logprobs = answer.best_of > answer.n ? std::max(0, answer.logprobs) : answer.logprobs;
  TextRequest text = text_request(model, request, std::move(tokens), logprobs, "prompt");
  text.texts = static_cast<std::int32_t>(answer.best_of);
  text.prompt_logprobs = echoed && logprobs >= 0;
  return text;
}

void completions(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& model = *call->model;
  auto initial = initial_request<CompletionRequest>(model);
  if (!initial.max_tokens) initial.max_tokens = kDefaultTokens;
  CompletionRequest request = completion_fields().read(*call->body, std::move(initial));
  if (request.echo && !request.suffix.empty())
    refuse(Path().member("suffix"), "cannot be combined with echo");
  CompletionAnswerOptions answer = answer_options(request);
  check_n_choices(request.prompts.size(), answer.best_of, "prompt");
  request.constraints.push_back(request.response_format);
  const auto grammar = constraint_grammar(model, only_constraint(request.constraints));
  TextJob job{.prompts = {}, .reading = {}, .prompt_param = "prompt"};
  if (request.echo) answer.prompts.resize(request.prompts.size());
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    job.prompts.push_back(request_for(model, request, answer, request.prompts[i],
                                      request.echo ? &answer.prompts[i] : nullptr));
    job.prompts.back().generation.rules.grammar = grammar;
  }
  const std::size_t n_prompts = request.prompts.size();
  auto writer = request.stream ? completion_stream(call, std::move(answer), n_prompts)
                               : completion_answer(call, std::move(answer), n_prompts);
  run_texts(call, std::move(job), std::move(writer));
}

}  // namespace

Endpoint completions_endpoint() {
  return text_endpoint("/v1/completions", "createCompletion", "Continues texts", completions,
                       completion_fields());
}

}  // namespace weft::api
