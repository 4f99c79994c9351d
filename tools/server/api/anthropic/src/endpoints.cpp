#include "weft/anthropic/endpoints.h"

#include "weft/api/chat_job.h"
#include "weft/api/json_text.h"
#include "weft/chat/next_turn.h"

#include "request.h"
#include "writer.h"

namespace weft::api {
namespace {

// The tokens of the prompt up to the last mark (cache_control); 0: it has none. The last token is
// never in the cache.
std::int64_t n_marked_tokens(const ServedModel& model, const anthropic::Request& request,
                             const TextJob& job) {
  const std::vector<TokenId>& prompt = job.prompts.front().prompt;
  const std::size_t n_before = request.system.empty() ? 0 : 1;
  const auto& [messages, n_marked] = request.messages;
  if (request.marks_all || n_marked == messages.size()) return std::ssize(prompt) - 1;
  if (n_marked == 0 && !request.marks_before_messages) return 0;
  return n_tokens_of_messages(model.chat, *job.turn, prompt, n_marked + n_before);
}

void answer_messages(const std::shared_ptr<ApiCall>& call) {
  auto initial = initial_request<anthropic::Request>(*call->model);
  initial.max_tokens.reset();
  const anthropic::Request request = anthropic::fields().read(*call->body, std::move(initial));
  if (request.has_billing_line && call->services.options.on_notice)
    call->services.options.on_notice(
        "system blocks that begin with x-anthropic-billing-header differ in each request: they are "
        "left out of prompts, so that these can be reused");
  TextJob job = chat_job(*call->model, anthropic::chat_turn(request), request, -1, "toolu_");
  const std::int64_t n_marked = n_marked_tokens(*call->model, request, job);
  job.prompts.front().likely_again =
      request.marks_all || request.marks_before_messages || request.messages.n_marked > 0;
  run_texts(call, std::move(job),
            std::make_shared<anthropic::Writer>(call, request.stream, n_marked));
}

void count_tokens(const std::shared_ptr<ApiCall>& call) {
  const anthropic::ChatRequest request = anthropic::chat_fields().read(*call->body);
  const ChatPlan prompt = plan_chat(*call->model, anthropic::chat_turn(request));
  call->reply(JsonObject().add("input_tokens", prompt.tokens.size()).str());
}

}  // namespace

std::vector<Endpoint> anthropic_endpoints() {
  return {
      text_endpoint("/v1/messages", "createMessage", "Answers a conversation, in Anthropic's form",
                    answer_messages, anthropic::fields()),
      post_endpoint("/v1/messages/count_tokens", "countMessageTokens",
                    "Counts the tokens that the same conversation has as a prompt", count_tokens,
                    anthropic::chat_fields())};
}

}  // namespace weft::api
