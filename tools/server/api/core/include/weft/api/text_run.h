#pragma once
// Runs texts of the engine for one HTTP request, and passes their events to a writer. Whole answers
// and streams get the same pieces, so that they cannot differ.
//
//   engine thread: events -> preparing threads, one at a time: ReplyParser -> AnswerWriter

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/chat/reply_reader.h"
#include "weft/chat/reply_sink.h"
#include "weft/template/chat_template.h"

namespace weft::api {

// The change of a choice by one token.
struct TextDelta {
  std::vector<ReplyEvent> events;       // from a ReplyReader
  std::string text;                     // the text as it was generated, before it was parsed
  std::vector<TokenId> tokens;          // one, or none: text that had been held back
  std::vector<TokenLogprobs> logprobs;  // for tokens whose text is shown now, if requested
};

struct ChoiceEnd {
  enum class Reason { stop, length, calls, cancelled };
  Reason reason = Reason::stop;  // `calls`: the reply has calls and ended by itself
  StopReason stop = StopReason::none;
  std::string stop_string;  // the one that was reached
  std::int64_t n_tokens = 0, n_reasoning_tokens = 0;
  double seconds = 0;
  std::int64_t n_drafted = 0, n_right = 0, n_dropped = 0;  // TextEnd's
};

struct RunTotals {
  std::int64_t n_prompt = 0, n_reused = 0;  // tokens of all prompts
  std::int64_t n_moved = 0;                 // those of n_reused from other positions
  std::int64_t n_new = 0, n_reasoning = 0;  // tokens of all choices
  double prompt_seconds = 0, new_seconds = 0, waiting_seconds = 0;
  std::int64_t n_drafted = 0, n_right = 0;  // guesses of drafts, and those that were right
  std::int64_t n_dropped = 0;               // tokens that were lost at the end of the context
  std::int32_t slot = -1;
  std::uint64_t seed = 0;  // the first prompt's
  std::string why;         // why not more of the last prompt was reused; "": all of it was
};

// Called in order, one call at a time, on preparing threads. After on_done() or on_error() nothing
// follows; the writer is then released. Its exceptions are passed to on_error().
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void on_progress(std::int64_t done, std::int64_t total) { (void)done, (void)total; }
  // `prompt`: its number. Choices of prompt i are i * n .. i * n + n - 1.
  virtual void on_prompt(int prompt, const PromptDone& done) { (void)prompt, (void)done; }
  virtual void on_delta(int choice, const TextDelta& delta) = 0;
  virtual void on_end(int choice, const ChoiceEnd& end) = 0;
  virtual void on_done(const RunTotals& totals) = 0;
  // Nothing was sent if no other function was called before.
  virtual void on_error(const ApiError& error) = 0;
};

struct TextJob {
  std::vector<TextRequest> prompts;       // several are computed as slots become free
  ReplyReading reading;                   // default: all is content
  std::shared_ptr<const ChatTurn> turn;   // of which the only prompt was made; null: no chat
  std::string prompt_param = "messages";  // for errors
};

// Returns at once. If the client leaves, everything is cancelled. Throws ApiError if the first
// prompt is refused; nothing was sent then.
//
// The function that it returns cancels the texts, which then end with ChoiceEnd::Reason::cancelled.
// It may be called from any thread, also after they have ended.
std::function<void()> run_texts(std::shared_ptr<ApiCall> call, TextJob job,
                                std::shared_ptr<AnswerWriter> writer);

// A choice as a whole.
struct Choice {
  MessageBuilder reply;
  std::string text;  // all that was generated
  std::vector<TokenId> tokens;
  std::vector<TokenLogprobs> logprobs;
  ChoiceEnd end;
};

// Collects everything, then calls finish() once. Errors are answered in the form of the call.
class WholeAnswer : public AnswerWriter {
 public:
  WholeAnswer(std::shared_ptr<ApiCall> call, std::size_t n_choices);
  void on_prompt(int prompt, const PromptDone& done) override;
  void on_delta(int choice, const TextDelta& delta) override;
  void on_end(int choice, const ChoiceEnd& end) override;
  void on_done(const RunTotals& totals) override;
  void on_error(const ApiError& error) override;

 protected:
  // Answers: call().reply(..).
  virtual void finish(const RunTotals& totals) = 0;
  ApiCall& call() { return *call_; }
  std::vector<Choice>& choices() { return choices_; }
  std::vector<PromptDone>& prompts() { return prompts_; }

 private:
  std::shared_ptr<ApiCall> call_;
  std::vector<Choice> choices_;
  std::vector<PromptDone> prompts_;
};

}  // namespace weft::api
