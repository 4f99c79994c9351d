#pragma once
// Writes responses: items of the output, as events or as a whole.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/api/event_stream.h"
#include "weft/api/json_text.h"
#include "weft/api/text_run.h"

namespace weft::api::responses {

struct Response;

class Writer : public AnswerWriter, private ReplySink {
 public:
  // Called once at the end: with the response and the message of the assistant, or, if it failed,
  // with an empty text.
  using Ended = std::function<void(std::string json, ChatMessage answer)>;

  Writer(std::shared_ptr<ApiCall> call, std::shared_ptr<const Response> response, Ended ended);
  ~Writer() override;
  void on_prompt(int prompt, const PromptDone& done) override;
  void on_delta(int choice, const TextDelta& delta) override;
  void on_end(int choice, const ChoiceEnd& end) override;
  void on_done(const RunTotals& totals) override;
  void on_error(const ApiError& error) override;

 private:
  void on_content(const std::string& text) override;
  void on_reasoning(const std::string& text) override;
  void on_call(int index, const std::string& id, const std::string& name) override;
  void on_arguments(int index, const std::string& text) override;
  void on_call_end(int index) override;

  enum class ItemKind { none, message, reasoning, call };

  void open(ItemKind kind);
  void append(ItemKind kind, const std::string& text);
  void close(bool whole);
  void ended(std::string json);

  std::string part() const;                         // the part of a message or of reasoning
  std::string item(std::string_view status) const;  // "in_progress": without its content
  // Events. `members`: the members after type and number.
  void send(std::string_view type, JsonObject members);
  JsonObject place() const;       // item_id, output_index
  JsonObject part_place() const;  // and content_index
  std::string rows();             // logprobs that were not sent yet

  std::shared_ptr<ApiCall> call_;
  std::shared_ptr<const Response> response_;
  Ended ended_;
  std::unique_ptr<EventStream> stream_;  // null: a whole answer
  std::int64_t number_ = 0;              // number of the next event
  ChoiceEnd end_{};
  JsonArray output_;
  int n_items_ = 0;
  MessageBuilder answer_;
  // The item that is being written.
  ItemKind kind_ = ItemKind::none;
  std::string id_, text_, call_id_, name_;
  std::string all_rows_, new_rows_;  // logprobs of a message
};

}  // namespace weft::api::responses
