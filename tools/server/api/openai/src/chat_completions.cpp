// POST /v1/chat/completions: the request.

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/api/chat_fields.h"
#include "weft/api/chat_job.h"
#include "weft/api/constraint_fields.h"
#include "weft/api/endpoints.h"
#include "weft/api/generation_fields.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/api/tool_choice.h"
#include "weft/openai/endpoints.h"

#include "chat_answers.h"
#include "stream_options.h"

namespace weft::api {
namespace {

struct ChatRequest : GenerationFields, ConstraintFields {
  std::vector<ChatMessage> messages;
  std::string model;
  bool logprobs = false;
  std::optional<std::int64_t> top_logprobs, n_probs;
  Constraint response_format;
  std::vector<ChatTool> tools, functions;
  std::optional<ToolSelection> tool_choice, function_call;
  bool parallel_tool_calls = true;
  StreamOptions stream_options;
  std::string chat_template_kwargs, reasoning_effort, reasoning_format;
  bool add_generation_prompt = true, continue_final_message = true;
};

// "none", "auto" or {"name": ..}.
Form<ToolSelection> function_call_form() {
  auto form = tool_choice_form(ChoiceStyle::flat);
  form.expected = R"("none", "auto" or {"name":".."})";
  return form;
}

Fields<ChatRequest> chat_sampling_fields() {
  using R = ChatRequest;
  std::vector<std::string_view> other_names = token_limit_names();
  std::erase(other_names, "max_completion_tokens");
  return Fields<R>()
      .required("messages", &R::messages, messages_form(), "Messages of the conversation so far.")
      .add("model", &R::model, text(), "Name of the model; by default, the only one.")
      .add("max_tokens", &R::max_tokens, token_limit(0),
           "Number of tokens to generate at most; by default, there is no limit.")
      .aliases(other_names, "max_tokens")
      // Clients may send both. Fields are read in this order, so that it replaces max_tokens.
      .add("max_completion_tokens", &R::max_tokens, token_limit(0),
           "Number of tokens to generate at most; it replaces max_tokens.")
      .include(generation_fields())
      .add("logprobs", &R::logprobs, boolean(),
           "Report the logarithms of the probabilities of the tokens.")
      .add("top_logprobs", &R::top_logprobs, whole(0, 20),
           "Number of most likely tokens to report with each token; above 0 it needs logprobs.")
      .add("n_probs", &R::n_probs, whole(0, 20),
           "Number of most likely tokens to report, as logprobs and top_logprobs together do.")
      .add("stream_options", &R::stream_options, stream_options_form(),
           "Options of streams: additional contents besides the answer.");
}

const Fields<ChatRequest>& chat_fields() {
  using R = ChatRequest;
  static const auto table =
      chat_sampling_fields()
          .add("response_format", &R::response_format, response_format_form(),
               "Format of the content; schemas are always enforced.")
          .include(constraint_fields())
          .add("tools", &R::tools, list(tool_form(), 0, 1024), "Tools that the model may call.")
          .add("tool_choice", &R::tool_choice, tool_choice_form(),
               "Choice of tools: whether the model may or must call one, and which.")
          .add("parallel_tool_calls", &R::parallel_tool_calls, boolean(),
               "Allow several calls in one answer.")
          .add("functions", &R::functions, list(function_form(), 0, 1024),
               "Functions that the model may call; deprecated in favour of tools.")
          .add("function_call", &R::function_call, function_call_form(),
               "Choice of functions; deprecated in favour of tool_choice.")
          .add("chat_template_kwargs", &R::chat_template_kwargs, json_text(kObject, "an object"),
               "Variables for the chat template.")
          .add("reasoning_effort", &R::reasoning_effort,
               word({"none", "minimal", "low", "medium", "high", "xhigh", "max"}),
               "Effort of reasoning, which is passed to the chat template.")
          .add("reasoning_format", &R::reasoning_format, word(reasoning_names()),
               std::string(kReasoningDoc))
          .add("add_generation_prompt", &R::add_generation_prompt, boolean(),
               "End the prompt with the beginning of the answer.")
          .add("continue_final_message", &R::continue_final_message, boolean(),
               "Continue the assistant's message at the end of the conversation.")
          .apply(
              "prompt_cache_key", text(),
              [](ChatRequest& request, const std::string& key) {
                request.likely_again = !key.empty();
              },
              "Key of prompts that resemble each other: this one is kept longer.")
          .refused("modalities", {R"(["text"])"}, "only text is supported")
          .refused("audio", {}, "sound is not supported")
          .refused("web_search_options", {}, "searching the web is not supported")
          .refused("chat_template", {}, "templates of requests are not accepted")
          .refused("echo", {"false"}, "prompts of chats are not repeated");
  return table;
}

ChatTurn chat_turn(ChatRequest& request, bool& old_functions) {
  ChatTurn turn{.messages = std::move(request.messages),
                .tools = std::move(request.tools),
                .parallel_calls = request.parallel_tool_calls,
                .kwargs = merge_objects(effort_kwargs(request.reasoning_effort),
                                        request.chat_template_kwargs),
                .add_generation_prompt = request.add_generation_prompt,
                .continue_final_message = request.continue_final_message};
  if (!request.reasoning_format.empty())
    turn.reasoning_apart = reasoning_format(request.reasoning_format) != ReasoningFormat::none;
  old_functions = turn.tools.empty() && !request.functions.empty();
  if (old_functions) {
    turn.tools = std::move(request.functions);
    turn.parallel_calls = false;
  }
  const auto& choice = old_functions ? request.function_call : request.tool_choice;
  if (choice) {
    turn.tools = selected_tools(std::move(turn.tools), *choice);
    turn.tool_choice = *choice;
  }
  turn.choice_place = old_functions ? "function_call" : "tool_choice";
  turn.tools_place = old_functions ? "functions" : "tools";
  request.constraints.push_back(request.response_format);
  turn.constraint = only_constraint(request.constraints);
  return turn;
}

int n_logprobs(const ChatRequest& request) {
  if (request.n_probs && *request.n_probs > 0) return static_cast<int>(*request.n_probs);
  if (request.top_logprobs.value_or(0) > 0 && !request.logprobs)
    refuse(Path().member("top_logprobs"), "needs logprobs: true");
  return request.logprobs ? static_cast<int>(request.top_logprobs.value_or(0)) : -1;
}

void chat_completions(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& model = *call->model;
  ChatRequest request = chat_fields().read(*call->body, initial_request<ChatRequest>(model));
  const int logprobs = n_logprobs(request);
  ChatAnswerOptions answer{.n_choices = static_cast<std::size_t>(request.n),
                           .logprobs = logprobs >= 0,
                           .include_usage = request.stream_options.include_usage,
                           .return_progress = request.return_progress,
                           .timings_per_token = request.timings_per_token};
  ChatTurn turn = chat_turn(request, answer.old_functions);
  TextJob job = chat_job(model, std::move(turn), request, logprobs);
  auto writer = request.stream ? chat_stream(call, answer) : chat_answer(call, answer);
  run_texts(call, std::move(job), std::move(writer));
}

}  // namespace

Endpoint chat_completions_endpoint() {
  Endpoint endpoint = text_endpoint("/v1/chat/completions", "createChatCompletion",
                                    "Answers a conversation", chat_completions, chat_fields());
  endpoint.aliases = {"/chat/completions"};
  return endpoint;
}

}  // namespace weft::api
