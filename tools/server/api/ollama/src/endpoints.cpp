#include "weft/ollama/endpoints.h"

#include <utility>

#include "weft/api/chat_job.h"
#include "weft/api/errors.h"
#include "weft/api/forms.h"
#include "weft/api/infill_prompt.h"
#include "weft/api/json_text.h"
#include "weft/api/listed_model.h"
#include "weft/api/mixed_prompt.h"

#include "model_facts.h"
#include "request.h"
#include "writer.h"

namespace weft::api {
namespace ollama {
namespace {

template <class Request>
Request read_request(const Fields<Request>& fields, const ApiCall& call) {
  auto initial = initial_request<Request>(*call.model);
  initial.stream = true;
  return fields.read(*call.body, std::move(initial));
}

void refuse_unload(const TextFields& request) {
  if (request.unload)
    throw bad_request("keep_alive", "models are not unloaded by requests: the server decides");
}

void chat(const std::shared_ptr<ApiCall>& call) {
  const ChatRequest request = read_request(chat_fields(), *call);
  if (request.messages.empty()) {
    refuse_unload(request);
    return call->reply(loaded_answer(*call->model, AnswerKind::chat));
  }
  const int n_logprobs = ollama::n_logprobs(request);
  TextJob job = chat_job(*call->model, chat_turn(request), request, n_logprobs);
  AnswerOptions options{.kind = AnswerKind::chat,
                        .stream = request.stream,
                        .logprobs = request.logprobs,
                        .context = {},
                        .has_context = false};
  run_texts(call, std::move(job), std::make_shared<Writer>(call, std::move(options)));
}

// A text without the template.
TextJob raw_job(const ServedModel& model, const GenerateRequest& request) {
  std::vector<TokenId> prompt =
      request.suffix.empty()
          ? encode_mixed(*model.model, {request.prompt}, "prompt")
          : infill_prompt_of_suffix(model, {.text = request.prompt, .ids = {}}, request.suffix);
  TextJob job;
  job.prompt_param = "prompt";
  job.prompts.push_back(
      text_request(model, request, std::move(prompt), n_logprobs(request), "prompt"));
  job.prompts[0].generation.rules.grammar = constraint_grammar(model, request.format);
  return job;
}

void put_before(TextJob& job, const ServedModel& model, const std::vector<std::int64_t>& context) {
  const std::vector<TokenId> earlier = checked_ids(*model.model, context, "context");
  std::vector<TokenId>& prompt = job.prompts[0].prompt;
  prompt.insert(prompt.begin(), earlier.begin(), earlier.end());
  if (std::ssize(prompt) > model.texts->context())
    throw context_exceeded("context", std::ssize(prompt), model.texts->context());
}

void generate(const std::shared_ptr<ApiCall>& call) {
  const GenerateRequest request = read_request(generate_fields(), *call);
  if (request.prompt.empty() && request.suffix.empty()) {
    refuse_unload(request);
    return call->reply(loaded_answer(*call->model, AnswerKind::generate));
  }
  const bool raw = request.raw || !request.suffix.empty();
  TextJob job = raw ? raw_job(*call->model, request)
                    : chat_job(*call->model, chat_turn(request), request, n_logprobs(request));
  if (!request.context.empty()) put_before(job, *call->model, request.context);
  AnswerOptions options{.kind = AnswerKind::generate,
                        .stream = request.stream,
                        .logprobs = request.logprobs,
                        .context = {},
                        .has_context = !raw};
  if (!raw) options.context = job.prompts[0].prompt;
  run_texts(call, std::move(job), std::make_shared<Writer>(call, std::move(options)));
}

struct ShowRequest {
  std::string model, name;
  bool verbose = false;
};

const Fields<ShowRequest>& show_fields() {
  static const auto table =
      Fields<ShowRequest>()
          .add("model", &ShowRequest::model, text(), "Name of the model, also with :latest.")
          .add("name", &ShowRequest::name, text(), "Another name of model.")
          .add("verbose", &ShowRequest::verbose, boolean(), "Add the vocabulary to the answer.");
  return table;
}

void show(const std::shared_ptr<ApiCall>& call) {
  const ShowRequest request = show_fields().read(*call->body);
  const std::string& name = request.model.empty() ? request.name : request.model;
  if (name.empty()) refuse(Path().member("model"), "is required");
  call->reply(show_json(listed_model(call->services.models, name), request.verbose));
}

void tags(const std::shared_ptr<ApiCall>& call) {
  JsonArray list;
  for (const ListedModel& model : call->services.models.list()) list.add_json(tag_json(model));
  call->reply(JsonObject().add_json("models", list.str()).str());
}

void running(const std::shared_ptr<ApiCall>& call) {
  JsonArray list;
  for (const ListedModel& model : call->services.models.list())
    if (model.loaded) list.add_json(running_json(model));
  call->reply(JsonObject().add_json("models", list.str()).str());
}

void version(const std::shared_ptr<ApiCall>& call) {
  call->reply(JsonObject().add("version", call->services.options.version).str());
}

void refuse_managing(const std::shared_ptr<ApiCall>&) {
  throw not_supported("models are files of this server: it neither fetches nor changes them");
}

}  // namespace
}  // namespace ollama

std::vector<Endpoint> ollama_endpoints() {
  using namespace ollama;
  std::vector<Endpoint> endpoints = embed_endpoints();
  endpoints.push_back(text_endpoint("/api/chat", "ollamaChat", "Answers a conversation", chat,
                                    chat_fields(), ModelUse::listed));
  endpoints.push_back(text_endpoint("/api/generate", "ollamaGenerate",
                                    "Answers or continues a text", generate, generate_fields(),
                                    ModelUse::listed));
  for (Endpoint& endpoint : std::span(endpoints).last(2))
    endpoint.answer_type = "application/x-ndjson";
  endpoints.push_back(post_endpoint("/api/show", "ollamaShow", "Facts about a model", show,
                                    show_fields(), ModelUse::none));
  endpoints.push_back(plain_endpoint("GET", "/api/tags", "ollamaTags", "The models", tags));
  endpoints.push_back(plain_endpoint("GET", "/api/ps", "ollamaPs", "The loaded models", running));
  endpoints.push_back(
      plain_endpoint("GET", "/api/version", "ollamaVersion", "The server's version", version));
  for (const char* name : {"pull", "push", "create", "copy"})
    endpoints.push_back(
        plain_endpoint("POST", fmt::format("/api/{}", name), fmt::format("ollama_{}", name),
                       "Not supported: models are files of the server", refuse_managing));
  endpoints.push_back(plain_endpoint("DELETE", "/api/delete", "ollama_delete",
                                     "Not supported: models are files of the server",
                                     refuse_managing));
  return endpoints;
}

}  // namespace weft::api
