#include "writer.h"

#include <chrono>
#include <ctime>

#include "weft/api/answer_parts.h"

namespace weft::api::ollama {
namespace {

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

JsonObject head(const ServedModel& model) {
  return JsonObject().add("model", model.name).add("created_at", timestamp_now());
}

}  // namespace

std::string timestamp(std::int64_t unix_microseconds) {
  std::string seconds = utc_time(unix_microseconds / 1'000'000);
  seconds.pop_back();  // the Z
  return fmt::format("{}.{:06}Z", seconds, unix_microseconds % 1'000'000);
}

std::string timestamp_now() {
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  return timestamp(duration_cast<microseconds>(now).count());
}

std::string loaded_answer(const ServedModel& model, AnswerKind kind) {
  JsonObject json = head(model);
  if (kind == AnswerKind::chat)
    json.add_json("message", R"({"role":"assistant","content":""})");
  else
    json.add("response", "");
  return json.add("done", true).add("done_reason", "load").str();
}

Writer::Writer(std::shared_ptr<ApiCall> call, AnswerOptions options)
    : call_(std::move(call)), options_(std::move(options)) {
  if (options_.stream) stream_ = std::make_unique<EventStream>(call_, StreamForm::lines);
}

void Writer::on_call(int, const std::string& id, const std::string& name) {
  call_id_ = id;
  call_name_ = name;
  arguments_.clear();
}

void Writer::on_arguments(int, const std::string& text) {
  arguments_ += text;
}

// Truncated calls have no end, and are not shown: arguments must be an object.
void Writer::on_call_end(int index) {
  calls_.add_json(
      JsonObject()
          .add("id", call_id_)
          .add_json("function", JsonObject()
                                    .add("index", index)
                                    .add("name", call_name_)
                                    .add_json("arguments", arguments_.empty() ? "{}" : arguments_)
                                    .str())
          .str());
}

JsonObject Writer::line() {
  JsonObject json = head(*call_->model);
  if (options_.kind == AnswerKind::chat) {
    JsonObject message;
    message.add("role", "assistant").add("content", content_);
    if (!thinking_.empty()) message.add("thinking", thinking_);
    if (!calls_.empty()) message.add_json("tool_calls", calls_.str());
    json.add_json("message", message.str());
  } else {
    json.add("response", content_);
    if (!thinking_.empty()) json.add("thinking", thinking_);
  }
  if (options_.logprobs) json.add_json("logprobs", fmt::format("[{}]", rows_));
  content_.clear();
  thinking_.clear();
  rows_.clear();
  calls_ = {};
  return json;
}

void Writer::on_delta(int, const TextDelta& delta) {
  take(delta.events);
  if (options_.logprobs) append_rows(rows_, logprob_rows(delta.logprobs));
  if (options_.has_context)
    options_.context.insert(options_.context.end(), delta.tokens.begin(), delta.tokens.end());
  const bool shown = !content_.empty() || !thinking_.empty() || !calls_.empty() || !rows_.empty();
  if (stream_ && shown) stream_->send(line().add("done", false).str());
}

void Writer::on_end(int, const ChoiceEnd& end) {
  end_ = end;
}

void Writer::on_done(const RunTotals& totals) {
  const bool stopped =
      end_.reason == ChoiceEnd::Reason::stop || end_.reason == ChoiceEnd::Reason::calls;
  JsonObject json = line();
  json.add("done", true).add("done_reason", stopped ? "stop" : "length");
  if (options_.has_context) json.add_json("context", array_of(options_.context));
  json.add("total_duration", nanoseconds(seconds_since(start_)))
      .add("load_duration", 0)
      .add("prompt_eval_count", totals.n_prompt)
      .add("prompt_cached_count", totals.n_reused)
      .add("prompt_eval_duration", nanoseconds(totals.prompt_seconds))
      .add("eval_count", totals.n_new)
      .add("eval_duration", nanoseconds(totals.new_seconds));
  if (totals.n_dropped > 0) json.add("dropped_count", totals.n_dropped);
  if (!stream_) {
    call_->reply(json.str());
    return;
  }
  stream_->send(json.str());
  stream_->end();
}

void Writer::on_error(const ApiError& error) {
  answer_error(*call_, stream_.get(), error);
}

}  // namespace weft::api::ollama
