#include "weft/api/event_stream.h"

#include <mutex>
#include <utility>

#include "weft/api/workers.h"

namespace weft::api {
namespace {

// More unsent bytes mean a slow reader, who needs no pings.
constexpr std::size_t kSlowReader = std::size_t{64} << 10;
constexpr std::size_t kMaxUnsent = std::size_t{16} << 20;

http::Reply beginning(StreamForm form) {
  return {.body = {},
          .content_type = form == StreamForm::events ? "text/event-stream" : "application/x-ndjson",
          .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
}

}  // namespace

std::string piece_of(StreamForm form, std::string_view data, std::string_view event) {
  std::string piece;
  piece.reserve(data.size() + event.size() + 20);
  if (form == StreamForm::lines) {
    piece.append(data).append("\n");
    return piece;
  }
  if (!event.empty()) piece.append("event: ").append(event).append("\n");
  piece.append("data: ").append(data).append("\n\n");
  return piece;
}

struct EventStream::Shared : std::enable_shared_from_this<Shared> {
  Shared(std::shared_ptr<ApiCall> c, StreamForm f) : call(std::move(c)), form(f) {}

  // REQUIRES: locked.
  void write(std::string piece) {
    last = Clock::now();
    if (std::exchange(begun, true)) {
      call->exchange->write(std::move(piece));
      return;
    }
    http::Reply reply = beginning(form);
    reply.body = std::move(piece);
    call->exchange->begin(std::move(reply));
  }

  void schedule_ping() {
    const double seconds = call->services.options.sse_ping_seconds;
    if (seconds <= 0 || form != StreamForm::events) return;
    const auto interval =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    timer = call->services.workers.at(last + interval, [self = shared_from_this()] {
      const std::lock_guard lock(self->mutex);
      if (self->ended) return;
      const double silence = self->call->services.options.sse_ping_seconds;
      if (seconds_since(self->last) >= silence) {
        if (!self->begun || self->call->exchange->unsent() < kSlowReader) self->write(": ping\n\n");
        self->last = Clock::now();
      }
      self->schedule_ping();
    });
  }

  // REQUIRES: locked.
  void write_event(std::string_view data, std::string_view event) {
    if (!ended) write(piece_of(form, data, event));
  }

  // REQUIRES: locked. Returns whether it had not ended.
  bool finish() {
    if (std::exchange(ended, true)) return false;
    if (timer != 0) call->services.workers.cancel(timer);
    return true;
  }

  const std::shared_ptr<ApiCall> call;
  const StreamForm form;
  std::mutex mutex;
  Clock::time_point last = Clock::now();
  Workers::TimerId timer = 0;
  bool begun = false, ended = false;
};

EventStream::EventStream(std::shared_ptr<ApiCall> call, StreamForm form)
    : shared_(std::make_shared<Shared>(std::move(call), form)) {
  const std::lock_guard lock(shared_->mutex);
  shared_->schedule_ping();
}

EventStream::~EventStream() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->finish() && shared_->begun) shared_->call->exchange->end();
}

void EventStream::send(std::string_view data, std::string_view event) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->begun && shared_->call->exchange->unsent() > kMaxUnsent)
    throw unavailable("the client reads the answer too slowly");
  shared_->write_event(data, event);
}

void EventStream::fail(const ApiError& error) {
  const ErrorForm form = shared_->call->form;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->begun) {
      if (shared_->finish()) shared_->call->fail(error);
      return;
    }
    shared_->write_event(error_body(error, form), form == ErrorForm::anthropic ? "error" : "");
  }
  end();
}

void EventStream::end() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->finish()) return;
  if (!shared_->begun) shared_->write("");
  shared_->call->exchange->end();
}

bool EventStream::begun() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->begun;
}

void answer_error(const ApiCall& call, EventStream* stream, const ApiError& error) {
  if (stream)
    stream->fail(error);
  else
    call.fail(error);
}

}  // namespace weft::api
