#pragma once
// Answers of Anthropic's interface: blocks of text, thoughts and calls, as events or as a whole.

#include <memory>
#include <string>
#include <vector>

#include "weft/api/event_stream.h"
#include "weft/api/text_run.h"

namespace weft::api::anthropic {

class Writer : public AnswerWriter, private ReplySink {
 public:
  // `n_marked`: tokens of the prompt up to the last mark of the request.
  Writer(std::shared_ptr<ApiCall> call, bool stream, std::int64_t n_marked = 0);
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

  enum class BlockKind { none, text, thinking, tool_use };

  void open(BlockKind kind);
  void append(BlockKind kind, const std::string& text);
  // `whole`: false for a call with truncated arguments.
  void close(bool whole);
  // The open block with this content: a JSON value.
  std::string block(std::string_view content) const;
  void send(std::string_view type, const std::string& data);
  std::string message(std::string_view content, std::string_view stop,
                      std::string_view usage) const;

  std::shared_ptr<ApiCall> call_;
  std::unique_ptr<EventStream> stream_;  // null: a whole answer
  const std::string id_;
  const std::int64_t n_marked_;
  PromptDone prompt_{};
  ChoiceEnd end_{};
  // The block that is being written.
  BlockKind kind_ = BlockKind::none;
  int index_ = -1;
  std::string text_, call_id_, call_name_;
  std::vector<std::string> blocks_;  // complete ones, of a whole answer
};

}  // namespace weft::api::anthropic
