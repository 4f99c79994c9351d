// /completion and /infill.

#include <utility>

#include "weft/api/chat_job.h"
#include "weft/api/constraint_fields.h"
#include "weft/api/forms.h"
#include "weft/api/generation_fields.h"
#include "weft/api/infill_prompt.h"
#include "weft/api/mixed_prompt.h"
#include "weft/native/endpoints.h"
#include "weft/tokenize/tokenizer.h"

#include "completion_writer.h"
#include "lora_scales.h"
#include "settings.h"

namespace weft::api::native {
namespace {

// The common fields of /completion and /infill.
struct TextFields : GenerationFields, ConstraintFields {
  std::int64_t n_probs = 0;
  bool return_tokens = false;
  std::vector<std::string> response_fields;
  std::optional<std::vector<LoraScale>> lora;
};

struct CompletionRequest : TextFields {
  std::vector<MixedPrompt> prompts;
};

struct InfillRequest : TextFields {
  std::string prefix, suffix;
  std::vector<InfillFile> files;
  std::vector<MixedPrompt> prompt;
};

Fields<TextFields> text_fields() {
  return Fields<TextFields>()
      .accepted("model", text(), "Name of the model; by default, the only one.")
      .include(generation_fields())
      .include(constraint_fields())
      .add("n_predict", &TextFields::max_tokens, any_token_limit(), generation_doc("max_tokens"))
      .aliases(token_limit_names(), "n_predict")
      .add("n_probs", &TextFields::n_probs, whole(0, 1000),
           "Number of most likely tokens to report with each token; 0 reports none.")
      .add("return_tokens", &TextFields::return_tokens, boolean(),
           "Add the ids of the tokens to the answer.")
      .add("response_fields", &TextFields::response_fields, list(text(), 0, 100),
           "Members of the answer to send, such as timings/prompt_ms; an empty list sends all.")
      .add("lora", &TextFields::lora, list(object(lora_scale_fields()), 0, 1024),
           "Scales of the LoRA adapters; those that are not named are switched off.")
      .refused("post_sampling_probs", {"false"},
               "probabilities are those of the model, before sampling")
      .refused("n_indent", {"0"}, "indentation is not enforced")
      .refused("image_data", {"[]"}, "images are not supported");
}

const Fields<CompletionRequest>& completion_fields() {
  static const auto table =
      Fields<CompletionRequest>()
          .include(text_fields())
          .required("prompt", &CompletionRequest::prompts, mixed_prompts(),
                    "Prompt: a text, token ids, both mixed, or a list of prompts.");
  return table;
}

const Fields<InfillFile>& file_fields() {
  static const auto table =
      Fields<InfillFile>()
          .add("filename", &InfillFile::name, text(), "Name of the file.")
          .required("text", &InfillFile::text, text(), "Contents of the file.");
  return table;
}

const Fields<InfillRequest>& infill_fields() {
  static const auto table =
      Fields<InfillRequest>()
          .include(text_fields())
          .required("input_prefix", &InfillRequest::prefix, text(),
                    "Text before the one to generate.")
          .required("input_suffix", &InfillRequest::suffix, text(),
                    "Text after the one to generate.")
          .add("input_extra", &InfillRequest::files, list(object(file_fields()), 0, 1024),
               "Further files, for context.")
          .add("prompt", &InfillRequest::prompt, mixed_prompts(),
               "Beginning of the generated text.");
  return table;
}

void run(const std::shared_ptr<ApiCall>& call, const TextFields& fields,
         std::vector<std::vector<TokenId>> prompts) {
  const ServedModel& served = *call->model;
  check_n_choices(prompts.size(), static_cast<std::size_t>(fields.n), "prompt");
  const auto grammar = constraint_grammar(served, only_constraint(fields.constraints));
  AnswerOptions options{.stream = fields.stream,
                        .progress = fields.return_progress,
                        .timings_per_token = fields.timings_per_token,
                        .tokens = fields.return_tokens,
                        .logprobs = fields.n_probs > 0,
                        .list = prompts.size() > 1 || fields.n > 1,
                        .fields = fields.response_fields,
                        .prompts = {},
                        .settings = {},
                        .seeds = {},
                        .choices_per_prompt = static_cast<int>(fields.n)};
  TextJob job;
  job.prompt_param = "prompt";
  const int logprobs = fields.n_probs > 0 ? static_cast<int>(fields.n_probs) : -1;
  for (std::vector<TokenId>& prompt : prompts) {
    options.prompts.push_back(
        served.model->tokenizer().decode(prompt, DecodeOptions{.show_special = true}));
    TextRequest request = text_request(served, fields, std::move(prompt), logprobs, "prompt");
    request.generation.rules.grammar = grammar;
    if (fields.lora)
      request.generation.lora_scales = lora_scales(*served.model, *fields.lora, "lora");
    options.seeds.push_back(request.generation.sampler.seed);
    if (options.settings.empty())
      options.settings = settings_json(request, fields.dry_sequence_breakers);
    job.prompts.push_back(std::move(request));
  }
  run_texts(call, std::move(job), std::make_shared<CompletionWriter>(call, std::move(options)));
}

void complete(const std::shared_ptr<ApiCall>& call) {
  const CompletionRequest request =
      completion_fields().read(*call->body, initial_request<CompletionRequest>(*call->model));
  std::vector<std::vector<TokenId>> prompts;
  for (const MixedPrompt& prompt : request.prompts)
    prompts.push_back(encode_mixed(*call->model->model, prompt, "prompt"));
  run(call, request, std::move(prompts));
}

void infill(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& model = *call->model;
  const InfillRequest request =
      infill_fields().read(*call->body, initial_request<InfillRequest>(model));
  if (request.prompt.size() > 1) throw bad_request("prompt", "expected one prompt");
  InfillText text{.prefix = {.text = request.prefix, .ids = {}},
                  .suffix = request.suffix,
                  .files = request.files};
  if (!request.prompt.empty())
    text.after_prefix =
        encode_parts(*model.model, request.prompt[0], /*add_special=*/false, "prompt");
  run(call, request, {infill_prompt(model, text)});
}

}  // namespace

std::vector<Endpoint> completion_endpoints() {
  std::vector<Endpoint> endpoints{
      text_endpoint("/completion", "completion", "Continues texts, in llama-server's form",
                    complete, completion_fields()),
      text_endpoint("/infill", "infill", "Generates the middle of a text", infill,
                    infill_fields())};
  // Without /v1, the path has this form.
  endpoints[0].aliases = {"/completions"};
  return endpoints;
}

}  // namespace weft::api::native
