#include "completion_writer.h"

#include "weft/api/answer_parts.h"

#include "response_fields.h"
#include "settings.h"

namespace weft::api::native {
namespace {

std::string_view stop_type(StopReason stop) {
  switch (stop) {
    case StopReason::end_of_text:
    case StopReason::complete:
      return "eos";
    case StopReason::stop_string:
      return "word";
    case StopReason::max_tokens:
    case StopReason::max_time:
    case StopReason::context_full:
      return "limit";
    default:
      return "none";
  }
}

}  // namespace

CompletionWriter::CompletionWriter(std::shared_ptr<ApiCall> call, AnswerOptions options)
    : call_(std::move(call)),
      options_(std::move(options)),
      states_(options_.prompts.size() * static_cast<std::size_t>(options_.choices_per_prompt)),
      prompts_(options_.prompts.size()),
      answers_(states_.size()) {
  if (options_.stream) stream_ = std::make_unique<EventStream>(call_);
}

void CompletionWriter::send_progress(int choice, std::int64_t done, std::int64_t total,
                                     std::int64_t reused) {
  if (!stream_ || !options_.progress) return;
  stream_->send(JsonObject()
                    .add("index", choice)
                    .add("content", "")
                    .add_json("tokens", "[]")
                    .add("stop", false)
                    .add_json("prompt_progress", JsonObject()
                                                     .add("total", total)
                                                     .add("cache", reused)
                                                     .add("processed", done)
                                                     .add("time_ms", seconds_since(start_) * 1000)
                                                     .str())
                    .str());
}

void CompletionWriter::on_progress(std::int64_t done, std::int64_t total) {
  // The number of reused tokens is only known when the prompt is complete.
  send_progress(0, done, total, 0);
}

void CompletionWriter::on_prompt(int prompt, const PromptDone& done) {
  prompts_[static_cast<std::size_t>(prompt)] = done;
  send_progress(prompt * options_.choices_per_prompt, done.n_prompt, done.n_prompt, done.n_reused);
}

RunTotals CompletionWriter::totals(int choice, std::int64_t n_new, double seconds) const {
  const PromptDone& prompt = prompts_[prompt_of(choice)];
  return {.n_prompt = prompt.n_prompt,
          .n_reused = prompt.n_reused,
          .n_moved = prompt.n_moved,
          .n_new = n_new,
          .prompt_seconds = prompt.seconds,
          .new_seconds = seconds,
          .waiting_seconds = prompt.seconds_waiting,
          .slot = prompt.slot,
          .why = prompt.why_not_reused};
}

void CompletionWriter::on_delta(int choice, const TextDelta& delta) {
  State& s = state(choice);
  if (s.n_tokens == 0) s.start = Clock::now();
  s.n_tokens += std::ssize(delta.tokens);
  const std::string rows = options_.logprobs ? logprob_rows(delta.logprobs) : "";
  if (!stream_) {
    s.text += delta.text;
    s.tokens.insert(s.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    append_rows(s.rows, rows);
    return;
  }
  const PromptDone& prompt = prompts_[prompt_of(choice)];
  JsonObject json;
  json.add("index", choice)
      .add("content", delta.text)
      .add_json("tokens", array_of(delta.tokens))
      .add("stop", false)
      .add("id_slot", prompt.slot)
      .add("tokens_predicted", s.n_tokens)
      .add("tokens_evaluated", prompt.n_prompt);
  if (options_.logprobs) json.add_json("completion_probabilities", fmt::format("[{}]", rows));
  if (options_.timings_per_token)
    json.add_json("timings", timings_json(totals(choice, s.n_tokens, seconds_since(s.start))));
  stream_->send(json.str());
}

std::string CompletionWriter::final_json(int choice, const ChoiceEnd& end) {
  State& s = state(choice);
  const std::size_t prompt = prompt_of(choice);
  const PromptDone& done = prompts_[prompt];
  RunTotals all = totals(choice, end.n_tokens, end.seconds);
  all.n_drafted = end.n_drafted;
  all.n_right = end.n_right;
  all.n_dropped = end.n_dropped;
  JsonObject json;
  json.add("index", choice)
      .add("content", s.text)
      .add_json("tokens", options_.tokens ? array_of(s.tokens) : "[]")
      .add("id_slot", done.slot)
      .add("stop", true)
      .add("model", call_->model->name)
      .add("tokens_predicted", end.n_tokens)
      .add("tokens_evaluated", done.n_prompt)
      .add_json("generation_settings", with_seed(options_.settings, options_.seeds[prompt]))
      .add("prompt", options_.prompts[prompt])
      .add("has_new_line", s.text.find('\n') != std::string::npos)
      .add("truncated", end.stop == StopReason::context_full || end.n_dropped > 0)
      .add("stop_type", stop_type(end.stop))
      .add("stopping_word", end.stop_string)
      .add("tokens_cached", done.n_reused)
      .add_json("timings", timings_json(all));
  if (options_.logprobs && !stream_)
    json.add_json("completion_probabilities", fmt::format("[{}]", s.rows));
  s = {};
  return options_.fields.empty() ? json.str() : selected_members(json.str(), options_.fields);
}

void CompletionWriter::on_end(int choice, const ChoiceEnd& end) {
  std::string json = final_json(choice, end);
  if (stream_)
    stream_->send(json);
  else
    answers_[static_cast<std::size_t>(choice)] = std::move(json);
}

void CompletionWriter::on_done(const RunTotals&) {
  if (stream_) {
    stream_->end();
    return;
  }
  if (!options_.list) return call_->reply(std::move(answers_[0]));
  JsonArray list;
  for (const std::string& answer : answers_) list.add_json(answer);
  call_->reply(list.str());
}

void CompletionWriter::on_error(const ApiError& error) {
  answer_error(*call_, stream_.get(), error);
}

}  // namespace weft::api::native
