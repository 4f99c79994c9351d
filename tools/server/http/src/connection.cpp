#include "connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "refused_error.h"

namespace weft::http {
namespace {

using std::chrono::seconds;

// What a client may send ahead of the answer that it waits for.
constexpr std::size_t kMaxAhead = std::size_t{64} << 10;
constexpr std::size_t kMaxRead = std::size_t{64} << 10;
constexpr auto kWatchEvery = std::chrono::milliseconds(100);
// The body of a refused request is read and dropped up to this size, so that the connection lives.
constexpr std::uint64_t kMaxSkipped = std::uint64_t{64} << 10;
// For what is still sent after the last answer, so that the client can read that answer.
constexpr auto kLinger = seconds(2);

}  // namespace

Connection::Connection(Service& service, std::string peer)
    : service_(service),
      peer_(std::move(peer)),
      reader_(service.reader_limits()),
      timer_(service.io) {}

Connection::~Connection() {
  if (answer_) answer_->leave();
}

void Connection::start() {
  set_timeout();
  handshake();
}

void Connection::drain() {
  if (is_idle()) return close();
  if (state_ == State::body) set_deadline(Clock::now() + kLinger);
}

void Connection::close() {
  if (state_ == State::closed) return;
  const auto self = shared_from_this();
  state_ = State::closed;
  // Also if a hook throws: otherwise stop() would not end.
  struct Closed {
    ~Closed() { connection.service_.on_closed(connection); }
    Connection& connection;
  } const closed{*this};
  timer_.cancel();
  close_socket();
  release_body();
  if (named_ && status_ == 0) status_ = 499;
  if (answer_) answer_->leave();
  end_request();
  answer_.reset();  // it holds the I/O context, whose pending operations hold this
}

void Connection::linger() {
  state_ = State::linger;
  set_deadline(Clock::now() + kLinger);
  shut_down();
  if (input_ended_) return close();
  input_.consume(input_.size());
  read_more();
}

void Connection::on_handshake(bool ok) {
  if (state_ == State::closed) return;
  if (!ok) return close();
  state_ = State::head;
  read_more();
}

// Reading.

void Connection::read_more() {
  if (reading_ || input_ended_ || state_ == State::closed) return;
  std::size_t n = state_ == State::linger ? kMaxRead : InputBuffer::kIdleBytes;
  if (state_ == State::body) {
    const std::uint64_t length = reader_.body_length().value_or(kMaxRead);
    n = static_cast<std::size_t>(std::clamp<std::uint64_t>(length, n, kMaxRead));
  } else {
    input_.shrink();
  }
  if (state_ == State::answer && input_.size() >= kMaxAhead) return watch_client();
  reading_ = true;
  read(input_.prepare(n), n);
}

// In place of a pending read while the client has sent too much ahead.
void Connection::watch_client() {
  if (reading_ || writing_ || ended_) return;
  if (client_has_left()) return on_input_end();
  set_deadline(Clock::now() + kWatchEvery);
}

void Connection::on_read(bool ok, std::size_t n) {
  const auto self = shared_from_this();
  reading_ = false;
  input_.commit(n);
  if (state_ == State::closed) return;
  if (!ok) return on_input_end();
  if (state_ == State::head && input_.size() == n) {
    request_start_ = Clock::now();
    set_timeout();
  }
  if (state_ == State::body && !service_.draining) set_timeout();
  process();
}

void Connection::on_input_end() {
  input_ended_ = true;
  const bool complete = state_ == State::answer && (answer_ ? answer_->ended() : ended_);
  if (!complete) return close();
  // A client that waits for the rest with its own direction closed.
  close_after_ = true;
  flush();
}

void Connection::process() {
  const auto self = shared_from_this();
  std::optional<Refusal> refusal;
  try {
    while (parse()) {
    }
  } catch (const RefusedError& e) {
    refusal = e.refusal();
  } catch (const std::exception&) {
    close();
  }
  if (refusal) refuse(*refusal);
  read_more();
}

// Returns whether there may be more to parse.
bool Connection::parse() {
  const std::uint64_t skipped = std::min<std::uint64_t>(skip_, input_.size());
  input_.consume(static_cast<std::size_t>(skipped));
  skip_ -= skipped;
  if (state_ == State::head) return skip_ == 0 && parse_head();
  if (state_ == State::body) return parse_body();
  if (state_ == State::linger) input_.consume(input_.size());
  return false;
}

bool Connection::parse_head() {
  const std::size_t n = reader_.read_head(input_.view());
  input_.consume(n);
  if (reader_.head_complete()) accept_head();
  return n > 0;
}

bool Connection::parse_body() {
  const std::size_t n = reader_.read_body(input_.view());
  input_.consume(n);
  count_body(reader_.body_bytes());
  if (reader_.complete()) begin_request();
  return n > 0;
}

void Connection::name_request(RequestHead& head) {
  if (std::exchange(named_, true)) return;
  head.id = service_.new_request_id();
  head.peer = peer_;
  service_.on_request();
}

void Connection::remove_prefix(RequestHead& head) {
  const std::string& prefix = service_.options.prefix;
  if (prefix.empty() || head.path == "*") return;
  const bool below = head.path.starts_with(prefix) &&
                     (head.path.size() == prefix.size() || head.path[prefix.size()] == '/');
  if (!below) throw RefusedError({404, "unknown path " + head.path, "not_found_error"});
  head.path.erase(0, prefix.size());
  if (head.path.empty()) head.path = "/";
}

// The body of a request that is answered without it.
void Connection::skip_body() {
  const auto length = reader_.body_length();
  // With Expect, the client may leave it out.
  const bool sent = find_header(reader_.head().headers, "expect").empty();
  if (sent && length && *length <= kMaxSkipped)
    skip_ = *length;
  else
    close_after_ = true;
}

// Bodies share one limit, from their first byte to the end of the answer.
void Connection::count_body(std::size_t n_bytes) {
  service_.n_body_bytes += n_bytes - counted_body_;
  counted_body_ = n_bytes;
  if (service_.n_body_bytes > service_.options.max_bodies_bytes)
    throw RefusedError(
        {503, "too many large requests at once, try again later", "unavailable_error", "budget"});
}

void Connection::release_body() {
  service_.n_body_bytes -= std::exchange(counted_body_, 0);
}

void Connection::accept_head() {
  RequestHead& head = reader_.head();
  name_request(head);
  std::optional<Reply> reply;
  try {
    remove_prefix(head);
    if (service_.hooks.gate) reply = service_.hooks.gate(head);
    if (!reply) reader_.begin_body();
  } catch (const RefusedError& e) {
    reply = service_.hooks.refuse(head, e.refusal());
  }
  if (reply) {
    skip_body();
    head_ = std::move(head);
    return answer_at_once(std::move(*reply));
  }
  state_ = State::body;
  if (reader_.expects_continue() && !reader_.complete() && input_.size() == 0) {
    queue(std::string(kContinue));
    send();
  }
}

void Connection::begin_request() {
  Request request;
  request.body = reader_.take_body();
  static_cast<RequestHead&>(request) = std::move(reader_.head());
  head_only_ = request.method == "HEAD";
  const auto wake = [io = service_.shared_io, weak = weak_from_this()] {
    boost::asio::post(*io, [weak] {
      if (const auto self = weak.lock()) self->flush();
    });
  };
  answer_ = std::make_shared<Answer>(std::move(request), wake);
  state_ = State::answer;
  clear_deadline();
  try {
    service_.hooks.handler(make_exchange(answer_));
  } catch (const std::exception&) {
    // The exchange was destroyed without an answer, which is answered with status 500.
  }
}

// The end of the request is unknown, so the connection closes after the answer.
void Connection::refuse(const Refusal& refusal) {
  close_after_ = true;
  release_body();
  name_request(reader_.head());
  head_ = std::move(reader_.head());
  try {
    Reply reply = service_.hooks.refuse(head_, refusal);
    if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
    answer_at_once(std::move(reply));
  } catch (const std::exception&) {
    close();
  }
}

// Deadlines. The timer is not set anew for each of them: when it fires too early, it is set again.

void Connection::set_deadline(Clock::time_point deadline) {
  deadline_ = deadline;
  if (deadline_ < timer_at_) start_timer();
}

void Connection::start_timer() {
  timer_at_ = deadline_;
  timer_.expires_at(deadline_);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ == State::closed) return;
    self->timer_at_ = Clock::time_point::max();
    if (Clock::now() >= self->deadline_) return self->on_deadline();
    if (self->deadline_ != Clock::time_point::max()) self->start_timer();
  });
}

void Connection::on_deadline() {
  clear_deadline();
  if (state_ == State::answer && !writing_) return watch_client();
  const bool receiving = state_ == State::body || (state_ == State::head && input_.size() > 0);
  if (!receiving) return close();
  refuse({408, "the request was not complete in time"});
}

}  // namespace weft::http
