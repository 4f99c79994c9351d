#include "weft/anthropic/endpoints.h"

#include "weft/api/chat_job.h"
#include "weft/api/json_text.h"

#include "request.h"
#include "writer.h"

namespace weft::api {
namespace {

void answer_messages(const std::shared_ptr<ApiCall>& call) {
  auto initial = initial_request<anthropic::Request>(*call->model);
  initial.max_tokens.reset();
  const anthropic::Request request = anthropic::fields().read(*call->body, std::move(initial));
  if (request.has_billing_line && call->services.options.on_notice)
    call->services.options.on_notice(
        "system blocks that begin with x-anthropic-billing-header differ in each request: they are "
        "left out of prompts, so that these can be reused");
  TextJob job = chat_job(*call->model, anthropic::chat_turn(request), request, -1, "toolu_");
  run_texts(call, std::move(job), std::make_shared<anthropic::Writer>(call, request.stream));
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
