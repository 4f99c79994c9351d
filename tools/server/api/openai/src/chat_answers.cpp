// The whole answer of a chat completion.

#include "chat_answers.h"

#include <utility>

#include <fmt/format.h>

#include "weft/api/answer_parts.h"
#include "weft/base/json_string.h"

namespace weft::api {
namespace {

std::string call_json(const ToolCall& call) {
  return fmt::format(R"({{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}})",
                     json_string(call.id), json_string(call.name), json_string(call.arguments));
}

std::string calls_json(const std::vector<ToolCall>& calls, bool old_functions) {
  if (calls.empty()) return "";
  if (old_functions)
    return fmt::format(R"(,"function_call":{{"name":{},"arguments":{}}})",
                       json_string(calls[0].name), json_string(calls[0].arguments));
  std::string all;
  for (const ToolCall& call : calls) all += (all.empty() ? "" : ",") + call_json(call);
  return fmt::format(R"(,"tool_calls":[{}])", all);
}

std::string message_json(const Choice& choice, bool old_functions) {
  const ChatMessage& reply = choice.reply.message();
  const bool no_content = reply.content.empty() && !reply.tool_calls.empty();
  std::string message = fmt::format(R"({{"role":"assistant","content":{},"refusal":null)",
                                    no_content ? "null" : json_string(reply.content));
  if (!reply.reasoning.empty()) message += ",\"reasoning_content\":" + json_string(reply.reasoning);
  return message + calls_json(reply.tool_calls, old_functions) + "}";
}

class ChatAnswer : public WholeAnswer {
 public:
  ChatAnswer(std::shared_ptr<ApiCall> call, const ChatAnswerOptions& options)
      : WholeAnswer(std::move(call), options.n_choices), options_(options) {}

 protected:
  void finish(const RunTotals& totals) override {
    std::string all;
    for (std::size_t i = 0; i < choices().size(); ++i)
      all += fmt::format("{}{}", i == 0 ? "" : ",", choice_json(i));
    call().reply(fmt::format(R"({}{}],"usage":{},"timings":{}}})",
                             choices_head(call(), "chatcmpl-", "chat.completion"), all,
                             usage_json(totals), timings_json(totals)));
  }

 private:
  std::string choice_json(std::size_t i) {
    const Choice& choice = choices()[i];
    const std::string logprobs =
        options_.logprobs
            ? fmt::format(R"({{"content":[{}],"refusal":null}})", logprob_rows(choice.logprobs))
            : "null";
    return fmt::format(R"({{"index":{},"message":{},"logprobs":{},"finish_reason":"{}"}})", i,
                       message_json(choice, options_.old_functions), logprobs,
                       chat_finish_reason(choice.end, options_.old_functions));
  }

  const ChatAnswerOptions options_;
};

}  // namespace

std::shared_ptr<AnswerWriter> chat_answer(std::shared_ptr<ApiCall> call,
                                          const ChatAnswerOptions& options) {
  return std::make_shared<ChatAnswer>(std::move(call), options);
}

}  // namespace weft::api
