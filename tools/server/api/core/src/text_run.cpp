#include "weft/api/text_run.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/api/listed_model.h"
#include "weft/api/workers.h"
#include "weft/chat/next_turn.h"
#include "weft/serve/shown_logprobs.h"

namespace weft::api {
namespace {

// Prompts that differ in fewer tokens from what is held grow, and nobody asks where.
constexpr std::int64_t kWorthAPlace = 64;

// An event of the engine, to be handled by another thread.
struct Event {
  enum class Kind { started, progress, prompt, token, end, error };
  Kind kind = Kind::token;
  int prompt = 0;
  int text = 0;
  std::int64_t done = 0, total = 0;
  TokenId token = kNoToken;
  std::string piece = {};
  std::optional<TokenLogprobs> logprobs = {};
  std::int64_t n_unshown = 0;
  std::unique_ptr<PromptDone> prompt_done = {};
  std::unique_ptr<TextEnd> end = {};
  std::exception_ptr error = {};
};

ChoiceEnd::Reason reason_of(StopReason stop, bool has_calls) {
  switch (stop) {
    case StopReason::max_tokens:
    case StopReason::max_time:
    case StopReason::context_full:
      return ChoiceEnd::Reason::length;
    case StopReason::cancelled:
      return ChoiceEnd::Reason::cancelled;
    default:
      return has_calls ? ChoiceEnd::Reason::calls : ChoiceEnd::Reason::stop;
  }
}

class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(std::shared_ptr<ApiCall> call, TextJob job, std::shared_ptr<AnswerWriter> writer)
      : call_(std::move(call)), job_(std::move(job)), writer_(std::move(writer)) {
    for (std::size_t i = 0; i < job_.prompts.size(); ++i) {
      first_choice_.push_back(static_cast<int>(choices_.size()));
      for (std::int32_t k = 0; k < job_.prompts[i].texts; ++k) choices_.emplace_back(job_.reading);
    }
    n_open_ = choices_.size();
    if (!job_.prompts.empty()) totals_.seed = job_.prompts.front().generation.sampler.seed;
  }

  // Throws if the first prompt is refused.
  void start() {
    call_->exchange->on_client_left([weak = weak_from_this()] {
      if (const auto run = weak.lock()) run->cancel();
    });
    submit_next();
    post({.kind = Event::Kind::started});
  }

  // From any thread.
  void cancel();

  // From an engine's thread.
  void post(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      if (std::exchange(scheduled_, true)) return;
    }
    call_->services.workers.post([self = shared_from_this()] { self->drain(); });
  }

 private:
  class Listener;
  struct ChoiceState {
    explicit ChoiceState(const ReplyReading& reading) : reader(reading) {}
    ReplyReader reader;
    ShownLogprobs logprobs = {};
    MessageBuilder reply = {};
    std::int64_t n_reasoning = 0;  // tokens before the answer
  };

  void submit_next();
  void submit_more();
  void drain();
  void handle(Event& event);
  void on_prompt(const Event& event);
  void on_token(const Event& event);
  void on_end(const Event& event);
  std::string why_not_reused(const PromptDone& done, const TextRequest& request) const;
  void prepare_next();
  void report_totals() const;
  void finish();
  void fail(std::exception_ptr error);
  void fail_quietly(std::exception_ptr error);
  int choice_of(const Event& event) const {
    return first_choice_[static_cast<std::size_t>(event.prompt)] + event.text;
  }
  ChoiceState& state_of(const Event& event) {
    return choices_[static_cast<std::size_t>(choice_of(event))];
  }

  const std::shared_ptr<ApiCall> call_;
  const TextJob job_;
  std::shared_ptr<AnswerWriter> writer_;  // null when the answer is complete
  std::vector<int> first_choice_;         // by prompt

  // Owned by the draining thread, or, until the first prompt is submitted, by the starting thread.
  std::deque<ChoiceState> choices_;
  std::size_t n_open_ = 0;               // choices that have not ended
  std::vector<std::int32_t> n_open_of_;  // by submitted prompt: its open choices
  std::size_t n_running_ = 0;            // prompts that have open choices
  RunTotals totals_;

  std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<RequestId> ids_;
  bool scheduled_ = false, cancelled_ = false;
};

class Run::Listener : public TextListener {
 public:
  Listener(std::shared_ptr<Run> run, int prompt) : run_(std::move(run)), prompt_(prompt) {}
  void on_prompt_progress(std::int64_t done, std::int64_t total) override {
    Event event{.kind = Event::Kind::progress, .prompt = prompt_};
    event.done = done, event.total = total;
    run_->post(std::move(event));
  }
  void on_prompt(const PromptDone& done) override {
    Event event{.kind = Event::Kind::prompt, .prompt = prompt_};
    event.prompt_done = std::make_unique<PromptDone>(done);
    run_->post(std::move(event));
  }
  void on_token(std::int32_t text, const GenerationEvent& from) override {
    run_->post(copy(Event::Kind::token, text, from));
  }
  void on_end(std::int32_t text, const GenerationEvent& from, const TextEnd& end) override {
    Event event = copy(Event::Kind::end, text, from);
    event.end = std::make_unique<TextEnd>(end);
    // The token that ended the text is not part of it.
    if (end.reason == StopReason::end_of_text) event.token = kNoToken, event.logprobs.reset();
    run_->post(std::move(event));
  }
  void on_error(std::exception_ptr error) override {
    Event event{.kind = Event::Kind::error, .prompt = prompt_};
    event.error = std::move(error);
    run_->post(std::move(event));
  }

 private:
  Event copy(Event::Kind kind, std::int32_t text, const GenerationEvent& from) const {
    Event event{.kind = kind, .prompt = prompt_, .text = text};
    event.token = from.token;
    event.piece = from.text;
    event.n_unshown = from.n_unshown;
    if (from.logprobs) event.logprobs = *from.logprobs;
    return event;
  }

  const std::shared_ptr<Run> run_;
  const int prompt_;
};

void Run::submit_next() {
  const std::size_t i = n_open_of_.size();
  auto listener = std::make_shared<Listener>(shared_from_this(), static_cast<int>(i));
  n_open_of_.push_back(job_.prompts[i].texts);
  ++n_running_;
  RequestId id = 0;
  try {
    id = call_->model->texts->submit(job_.prompts[i], std::move(listener));
  } catch (...) {
    n_open_of_.pop_back();
    --n_running_;
    throw;
  }
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
    cancelled = cancelled_;
  }
  if (cancelled) call_->model->texts->cancel(id);
}

// Runs one prompt per slot at a time, so that a long list does not fill the queue.
void Run::submit_more() {
  const auto n_slots = static_cast<std::size_t>(std::max(1, call_->model->texts->n_slots()));
  try {
    while (n_running_ < n_slots && n_open_of_.size() < job_.prompts.size()) submit_next();
  } catch (const QueueFullError&) {
    if (n_running_ == 0) throw;  // else again when one of them has ended
  }
}

void Run::cancel() {
  std::vector<RequestId> ids;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    ids = ids_;
  }
  for (const RequestId id : ids) call_->model->texts->cancel(id);
}

void Run::drain() {
  std::vector<Event> events;
  for (;;) {
    events.clear();
    {
      const std::lock_guard lock(mutex_);
      if (events_.empty()) {
        scheduled_ = false;
        return;
      }
      events.swap(events_);
    }
    for (Event& event : events) {
      if (!writer_) continue;
      try {
        handle(event);
      } catch (...) {
        fail_quietly(std::current_exception());
      }
    }
  }
}

// No job may throw. Without an answer the exchange answers with status 500.
void Run::fail_quietly(std::exception_ptr error) {
  try {
    fail(std::move(error));
  } catch (...) {
    writer_.reset();
  }
}

void Run::handle(Event& event) {
  switch (event.kind) {
    case Event::Kind::started:
      return submit_more();
    case Event::Kind::progress:
      return writer_->on_progress(event.done, event.total);
    case Event::Kind::prompt:
      return on_prompt(event);
    case Event::Kind::token:
      return on_token(event);
    case Event::Kind::end:
      return on_end(event);
    case Event::Kind::error:
      return fail(std::move(event.error));
  }
}

void Run::on_prompt(const Event& event) {
  const PromptDone& done = *event.prompt_done;
  totals_.n_prompt += done.n_prompt;
  totals_.n_reused += done.n_reused;
  totals_.n_moved += done.n_moved;
  totals_.prompt_seconds += done.seconds;
  totals_.waiting_seconds += done.seconds_waiting;
  totals_.slot = done.slot;
  totals_.why = why_not_reused(done, job_.prompts[static_cast<std::size_t>(event.prompt)]);
  PromptDone shown = done;
  shown.why_not_reused = totals_.why;
  writer_->on_prompt(event.prompt, shown);
}

// The engine's reason, with the place in the chat where the prompt differs from what was held.
std::string Run::why_not_reused(const PromptDone& done, const TextRequest& request) const {
  if (done.why_not_reused.empty()) return "";
  std::string why =
      fmt::format("reused {} of {} tokens: {}", done.n_reused, done.n_prompt, done.why_not_reused);
  const bool differs = !done.held_instead.empty() && done.n_same < done.n_prompt - 1;
  if (!differs || !job_.turn) return why;
  const ChatFormat& chat = call_->model->chat;
  if (done.n_prompt - done.n_same > kWorthAPlace)
    why += ", " + place_of(chat, *job_.turn, request.prompt, done.n_same);
  if (const auto& report = call_->services.options.on_difference)
    report(call_->request(), fmt::format("the prompt has `{}`, a held text `>{}`",
                                         text_around(*chat.tokenizer, request.prompt, done.n_same),
                                         chat.tokenizer->decode(done.held_instead)));
  return why;
}

TextDelta delta_of(const Event& event, ShownLogprobs& logprobs) {
  TextDelta delta{.events = {}, .text = event.piece, .tokens = {}, .logprobs = {}};
  if (event.token != kNoToken) delta.tokens.push_back(event.token);
  delta.logprobs = logprobs.push(event.logprobs ? &*event.logprobs : nullptr, event.n_unshown,
                                 event.end ? event.end->reason : StopReason::none);
  return delta;
}

void Run::on_token(const Event& event) {
  ChoiceState& choice = state_of(event);
  TextDelta delta = delta_of(event, choice.logprobs);
  delta.events = choice.reader.push(event.piece);
  choice.reply.take(delta.events);
  if (choice.reader.may_reason()) choice.n_reasoning += std::ssize(delta.tokens);
  writer_->on_delta(choice_of(event), delta);
}

void Run::on_end(const Event& event) {
  ChoiceState& choice = state_of(event);
  TextDelta delta = delta_of(event, choice.logprobs);
  delta.events = choice.reader.push(event.piece);
  for (ReplyEvent& last : choice.reader.finish(is_truncated(event.end->reason)))
    delta.events.push_back(std::move(last));
  choice.reply.take(delta.events);
  const int index = choice_of(event);
  if (!delta.events.empty() || !delta.tokens.empty() || !delta.text.empty() ||
      !delta.logprobs.empty())
    writer_->on_delta(index, delta);

  ChoiceEnd end{.reason = reason_of(event.end->reason, choice.reader.n_calls() > 0),
                .stop = event.end->reason,
                .stop_string = event.end->stop_string,
                .n_tokens = event.end->n_new,
                .n_reasoning_tokens = choice.reader.reasoned() ? choice.n_reasoning : 0,
                .seconds = event.end->seconds,
                .n_drafted = event.end->n_drafted,
                .n_right = event.end->n_right,
                .n_dropped = event.end->n_dropped};
  totals_.n_new += end.n_tokens;
  totals_.n_reasoning += end.n_reasoning_tokens;
  totals_.n_drafted += end.n_drafted;
  totals_.n_right += end.n_right;
  totals_.n_dropped += end.n_dropped;
  totals_.new_seconds = std::max(totals_.new_seconds, end.seconds);
  writer_->on_end(index, end);
  if (--n_open_of_[static_cast<std::size_t>(event.prompt)] == 0) --n_running_;
  if (--n_open_ == 0) return finish();
  submit_more();
}

void Run::report_totals() const {
  const auto& report = call_->services.options.on_texts;
  if (report) report(call_->request(), *call_->model, totals_);
}

void Run::finish() {
  report_totals();
  const auto writer = std::exchange(writer_, nullptr);
  writer->on_done(totals_);
  prepare_next();
}

// Clients rarely send the reasoning back, and if they do, the next prompt goes on where this text
// ended.
void Run::prepare_next() {
  if (!call_->model->prepares || !job_.turn || choices_.size() != 1) return;
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return;
  }
  ChatMessage reply = choices_.front().reply.whole_message();
  reply.reasoning.clear();
  TextRequest next = job_.prompts.front();
  next.prompt = next_prompt(call_->model->chat, *job_.turn, reply);
  if (std::ssize(next.prompt) > 1) call_->model->texts->prepare(std::move(next));
}

void Run::fail(std::exception_ptr error) {
  cancel();
  const auto writer = std::exchange(writer_, nullptr);
  if (!writer) return;
  report_totals();
  writer->on_error(
      without_paths(as_api_error(std::move(error), job_.prompt_param), call_->services.models));
}

}  // namespace

std::function<void()> run_texts(std::shared_ptr<ApiCall> call, TextJob job,
                                std::shared_ptr<AnswerWriter> writer) {
  if (const auto& watcher_of = call->services.options.watcher_of) {
    const auto watcher = watcher_of(call->request());
    for (TextRequest& prompt : job.prompts) prompt.watcher = watcher;
  }
  for (TextRequest& prompt : job.prompts) prompt.owner = call->owner(prompt.owner);
  const auto run = std::make_shared<Run>(std::move(call), std::move(job), std::move(writer));
  run->start();
  return [weak = std::weak_ptr(run)] {
    if (const auto running = weak.lock()) running->cancel();
  };
}

}  // namespace weft::api
