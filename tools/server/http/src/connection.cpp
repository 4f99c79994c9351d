#include "connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "refused_error.h"
#include "reply_text.h"

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
// A client of a stream may take as long for a piece of it before its connection makes room.
constexpr auto kReaderPause = seconds(5);

// Removes the first `n` bytes.
void remove_first(Buffers& buffers, std::size_t n) {
  auto at = buffers.begin();
  for (; at != buffers.end() && n >= at->size(); ++at) n -= at->size();
  buffers.erase(buffers.begin(), at);
  if (n > 0) buffers.front() += n;
}

// Removes the server's prefix from the path. Throws RefusedError for paths that are not below it.
void remove_prefix(const std::string& prefix, RequestHead& head) {
  if (prefix.empty() || head.path == "*") return;
  const bool below = head.path.starts_with(prefix) &&
                     (head.path.size() == prefix.size() || head.path[prefix.size()] == '/');
  if (!below) throw RefusedError({404, "unknown path " + head.path, "not_found_error"});
  head.path.erase(0, prefix.size());
  if (head.path.empty()) head.path = "/";
}

// The length of the body of a request that is answered without it, if it is to be read and dropped.
std::optional<std::uint64_t> skipped_body(RequestReader& reader) {
  const auto length = reader.body_length();
  // With Expect, the client may leave it out.
  const bool sent = find_header(reader.head().headers, "expect").empty();
  return sent && length && *length <= kMaxSkipped ? length : std::nullopt;
}

// In which a header or a handshake must be complete.
Clock::duration header_time(const ServerOptions& options) {
  return std::min(options.header_timeout, options.timeout);
}

}  // namespace

Connection::Connection(Service& service, std::unique_ptr<Transport> transport, std::string peer)
    : service_(service),
      transport_(std::move(transport)),
      deadline_(service.io),
      logger_(service, std::move(peer)),
      reader_(service.reader_limits()),
      budget_(service),
      pace_(service.options),
      output_(service, reader_) {}

Connection::~Connection() {
  if (output_.answer()) output_.answer()->leave();
}

void Connection::start() {
  deadline_.watch(weak_from_this(), [this] { on_deadline(); });
  deadline_.set_after(header_time(service_.options));
  transport_->handshake(shared_from_this());
}

bool Connection::waits_for_client() const {
  if (state_ == State::closed) return false;
  if (state_ != State::answer) return true;
  return writing_ && (output_.ended() || Clock::now() - progress_ >= kReaderPause);
}

void Connection::drain() {
  if (state_ == State::handshake || state_ == State::head) return close();
  if (state_ == State::body) deadline_.set_after(kLinger);
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
  deadline_.stop();
  transport_->close();
  if (output_.answer()) output_.answer()->leave();
  end_request();
  output_.reset();  // its answer holds the I/O context, whose pending operations hold this
}

void Connection::on_handshake(bool ok) {
  if (state_ == State::closed) return;
  if (!ok) return close();
  state_ = State::head;
  deadline_.set_after(service_.options.timeout);
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
  transport_->read(shared_from_this(), input_.prepare(n), n);
}

// In place of a pending read while the client has sent too much ahead, or has closed its direction.
void Connection::watch_client() {
  if (reading_ || writing_ || output_.ended()) return;
  if (!input_ended_ && transport_->client_has_left()) return on_input_end();
  if (input_ended_ && !probe_.waits(*transport_, output_)) return close();
  deadline_.set_after(kWatchEvery);
}

void Connection::on_read(bool ok, std::size_t n) {
  const auto self = shared_from_this();
  reading_ = false;
  input_.commit(n);
  if (state_ == State::closed) return;
  if (!ok) return on_input_end();
  if (state_ == State::body || skip_ > 0) {
    const bool fast = pace_.add(n, Clock::now());
    const bool receiving = state_ == State::body || state_ == State::head;
    if (receiving && !service_.draining) {
      if (fast) on_progress();
      deadline_.set(pace_.deadline());
    }
  }
  process();
}

void Connection::on_input_end() {
  input_ended_ = true;
  if (state_ != State::answer) return close();
  const bool complete = output_.answer()->ended();
  if (!complete && !transport_->may_be_read()) return close();
  // A client that waits for the rest with its own direction closed.
  output_.close_after();
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
  if (state_ == State::head && skip_ == 0) {
    if (skipped > 0) deadline_.set_after(service_.options.timeout);
    if (input_.size() == 0) return false;
    if (!std::exchange(head_begun_, true)) {
      logger_.start();
      on_progress();
      // For the whole header, however it drips.
      deadline_.set_after(header_time(service_.options));
    }
    const std::size_t n = reader_.read_head(input_.view());
    input_.consume(n);
    if (reader_.head_complete()) accept_head();
    return n > 0;
  }
  if (state_ == State::body) {
    const std::size_t n = reader_.read_body(input_.view());
    input_.consume(n);
    budget_.count(reader_.body_bytes());
    if (reader_.complete()) begin_request();
    return n > 0;
  }
  if (state_ == State::linger) input_.consume(input_.size());
  return false;
}

void Connection::accept_head() {
  RequestHead& head = reader_.head();
  pace_.start(Clock::now());
  pace_.add(input_.size(), Clock::now());
  on_progress();
  logger_.name(head);
  std::optional<Reply> reply;
  try {
    remove_prefix(service_.options.prefix, head);
    if (service_.hooks.gate) reply = service_.hooks.gate(head);
    if (!reply) reader_.begin_body();
  } catch (const RefusedError& e) {
    reply = service_.hooks.refuse(head, e.refusal());
  }
  if (reply) {
    const auto length = reply->status == 413 ? std::nullopt : skipped_body(reader_);
    if (length)
      skip_ = *length;
    else
      output_.close_after();
    return answer_at_once(head, std::move(*reply));
  }
  const auto& takes_body = service_.hooks.takes_body;
  if (reader_.body_length() != 0 && takes_body && !takes_body(head)) {
    output_.close_after();
    return begin_request();
  }
  state_ = State::body;
  deadline_.set(pace_.deadline());
  if (reader_.expects_continue() && !reader_.complete() && input_.size() == 0) {
    output_.add(std::string(kContinue));
    send();
  }
}

void Connection::begin_request() {
  Request request;
  request.body = reader_.take_body();
  static_cast<RequestHead&>(request) = std::move(reader_.head());
  const auto wake = [io = service_.shared_io, weak = weak_from_this()] {
    boost::asio::post(*io, [weak] {
      if (const auto self = weak.lock()) self->flush();
    });
  };
  const auto answer = std::make_shared<Answer>(std::move(request), wake);
  begin_answer(answer);
  try {
    service_.hooks.handler(make_exchange(answer));
  } catch (const std::exception&) {
    // The exchange was destroyed without an answer, which is answered with status 500.
  }
}

// The end of the request is unknown, so the connection closes after the answer.
void Connection::refuse(const Refusal& refusal) {
  output_.close_after();
  budget_.release();
  RequestHead& head = reader_.head();
  logger_.name(head);
  try {
    Reply reply = service_.hooks.refuse(head, refusal);
    if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
    answer_at_once(head, std::move(reply));
  } catch (const std::exception&) {
    close();
  }
}

void Connection::on_deadline() {
  deadline_.clear();
  if (state_ == State::answer && !writing_) return watch_client();
  const bool receiving = state_ == State::body || (state_ == State::head && input_.size() > 0);
  if (!receiving) return close();
  refuse({408, "the request was not complete in time"});
}

// Sending.

void Connection::begin_answer(std::shared_ptr<Answer> answer) {
  output_.begin(std::move(answer));
  state_ = State::answer;
  deadline_.clear();
}

// Answers without an exchange.
void Connection::answer_at_once(RequestHead& head, Reply reply) {
  Request request;
  static_cast<RequestHead&>(request) = std::move(head);
  begin_answer(std::make_shared<Answer>(std::move(request), [] {}));
  output_.answer()->reply(std::move(reply));
  output_.collect();
  flush();
}

// Called after each change: a write of the answer, the end of a send.
void Connection::flush() {
  if (writing_ || state_ != State::answer) return;
  try {
    if (!output_.ended() && !output_.collect())
      close();
    else if (!output_.empty())
      send();
    else if (output_.ended())
      finish_answer();
  } catch (const std::exception&) {
    close();
  }
  if (state_ == State::answer && !reading_ && !writing_) watch_client();
}

void Connection::send() {
  writing_ = true;
  on_progress();
  Buffers buffers = output_.send();
  // A piece of a stream needs no round through the loop of events. The end of an answer takes it,
  // so that many requests at once do not nest.
  if (!output_.ended()) remove_first(buffers, transport_->write_now(buffers));
  if (!buffers.empty()) return transport_->write(shared_from_this(), buffers);
  sent();
}

void Connection::sent() {
  writing_ = false;
  output_.sent();
  if (state_ == State::answer) deadline_.clear();
  if (state_ == State::body) deadline_.set(pace_.deadline());
}

void Connection::on_progress() {
  if (state_ == State::closed) return;
  progress_ = Clock::now();
  service_.on_progress(*this);
  deadline_.set_after(service_.options.timeout);
}

void Connection::on_written(bool ok) {
  const auto self = shared_from_this();
  if (state_ == State::closed) return;
  if (!ok) return close();
  sent();
  if (state_ != State::answer) return;
  flush();
}

void Connection::end_request() {
  budget_.release();
  Answer* const answer = output_.answer();
  const RequestHead& head =
      answer ? answer->request() : static_cast<const RequestHead&>(reader_.head());
  const bool ended = logger_.end(head, output_.status(), output_.n_body_bytes());
  if (ended && answer) answer->finish();
}

void Connection::finish_answer() {
  end_request();
  output_.reset();
  on_progress();
  if (output_.closes() || service_.draining) return linger();
  reader_ = RequestReader(service_.reader_limits());
  state_ = State::head;
  head_begun_ = false;
  logger_.start();
  if (skip_ > 0) deadline_.set(pace_.deadline());
  process();
}

void Connection::linger() {
  state_ = State::linger;
  deadline_.set_after(kLinger);
  transport_->shut_down(shared_from_this());
  if (input_ended_) return close();
  input_.consume(input_.size());
  read_more();
}

}  // namespace weft::http
