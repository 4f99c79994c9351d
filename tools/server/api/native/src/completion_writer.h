#pragma once
// Answers of /completion and /infill.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/api/event_stream.h"
#include "weft/api/json_text.h"
#include "weft/api/text_run.h"
#include "weft/base/clock.h"

namespace weft::api::native {

struct AnswerOptions {
  bool stream = false;
  bool progress = false;  // return_progress
  bool timings_per_token = false;
  bool tokens = false;  // return_tokens, of a whole answer
  bool logprobs = false;
  bool list = false;                 // several choices: the whole answer is a list
  std::vector<std::string> fields;   // response_fields; empty: all
  std::vector<std::string> prompts;  // texts, one for each prompt
  std::string settings;              // a JSON object: of all prompts, except for their seeds
  std::vector<std::uint64_t> seeds;  // one for each prompt
  int choices_per_prompt = 1;
};

class CompletionWriter : public AnswerWriter {
 public:
  CompletionWriter(std::shared_ptr<ApiCall> call, AnswerOptions options);
  void on_progress(std::int64_t done, std::int64_t total) override;
  void on_prompt(int prompt, const PromptDone& done) override;
  void on_delta(int choice, const TextDelta& delta) override;
  void on_end(int choice, const ChoiceEnd& end) override;
  void on_done(const RunTotals& totals) override;
  void on_error(const ApiError& error) override;

 private:
  struct State {
    std::string text, rows;
    std::vector<TokenId> tokens;
    std::int64_t n_tokens = 0;
    Clock::time_point start = {};  // time of the first token
  };
  State& state(int choice) { return states_[static_cast<std::size_t>(choice)]; }
  std::size_t prompt_of(int choice) const {
    return static_cast<std::size_t>(choice / options_.choices_per_prompt);
  }
  RunTotals totals(int choice, std::int64_t n_new, double seconds) const;
  void send_progress(int choice, std::int64_t done, std::int64_t total, std::int64_t reused);
  std::string final_json(int choice, const ChoiceEnd& end);

  std::shared_ptr<ApiCall> call_;
  const AnswerOptions options_;
  std::unique_ptr<EventStream> stream_;  // null: a whole answer
  const Clock::time_point start_ = Clock::now();
  std::vector<State> states_;  // by choice
  std::vector<PromptDone> prompts_;
  std::vector<std::string> answers_;  // by choice, once it has ended
};

}  // namespace weft::api::native
