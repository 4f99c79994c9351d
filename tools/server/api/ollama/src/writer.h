#pragma once
// Answers of Ollama's interface: lines of JSON, or one object.

#include <memory>
#include <string>
#include <vector>

#include "weft/api/event_stream.h"
#include "weft/api/json_text.h"
#include "weft/api/text_run.h"
#include "weft/base/clock.h"

namespace weft::api::ollama {

enum class AnswerKind { chat, generate };

struct AnswerOptions {
  AnswerKind kind = AnswerKind::chat;
  bool stream = true;
  bool logprobs = false;
  // The prompt's tokens, if the answer shall have the member `context`.
  std::vector<TokenId> context = {};
  bool has_context = false;
};

class Writer : public AnswerWriter, private ReplySink {
 public:
  Writer(std::shared_ptr<ApiCall> call, AnswerOptions options);
  void on_delta(int choice, const TextDelta& delta) override;
  void on_end(int choice, const ChoiceEnd& end) override;
  void on_done(const RunTotals& totals) override;
  void on_error(const ApiError& error) override;

 private:
  void on_content(const std::string& text) override { content_ += text; }
  void on_reasoning(const std::string& text) override { thinking_ += text; }
  void on_call(int index, const std::string& id, const std::string& name) override;
  void on_arguments(int index, const std::string& text) override;
  void on_call_end(int index) override;

  // The text generated since the last line, as members of an object.
  JsonObject line();

  std::shared_ptr<ApiCall> call_;
  AnswerOptions options_;
  std::unique_ptr<EventStream> stream_;  // null: a whole answer
  const Clock::time_point start_ = Clock::now();
  ChoiceEnd end_{};
  std::string content_, thinking_, rows_;
  JsonArray calls_;
  std::string call_id_, call_name_, arguments_;
};

// The answer to a request that only loads the model.
std::string loaded_answer(const ServedModel& model, AnswerKind kind);

// "2026-01-31T23:59:59.123456Z".
std::string timestamp(std::int64_t unix_microseconds);
std::string timestamp_now();

}  // namespace weft::api::ollama
