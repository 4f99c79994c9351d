#include <utility>

#include "connection.h"

namespace weft::http {
namespace {

// Short strings are joined: one buffer less for the operating system to gather.
constexpr std::size_t kMaxJoinedBytes = std::size_t{16} << 10;

// Removes the first `n` bytes.
void consume(Buffers& buffers, std::size_t n) {
  auto at = buffers.begin();
  for (; at != buffers.end() && n >= at->size(); ++at) n -= at->size();
  buffers.erase(buffers.begin(), at);
  if (n > 0) buffers.front() += n;
}

}  // namespace

// Answers without an exchange; the head of the request is in `head_`.
void Connection::answer_at_once(Reply reply) {
  state_ = State::answer;
  clear_deadline();
  head_only_ = head_.method == "HEAD";
  queue_reply(std::move(reply), true);
  ended_ = true;
  flush();
}

// Called after each change: a write of the answer, the end of a send.
void Connection::flush() {
  if (writing_ || state_ != State::answer) return;
  try {
    send_answer();
  } catch (const std::exception&) {
    close();
  }
  if (state_ == State::answer && !reading_ && !writing_ && !input_ended_) watch_client();
}

void Connection::send_answer() {
  if (answer_ && !ended_ && !queue_batch(answer_->take())) return close();
  if (!queued_.empty()) return send();
  if (ended_) finish_answer();
}

// Returns false if the answer has begun, but nobody is left to complete it.
bool Connection::queue_batch(Answer::Batch batch) {
  if (batch.abandoned && status_ == 0 && !batch.reply) {
    batch.reply = service_.hooks.refuse(head(), {500, "internal error", "server_error"});
    batch.whole = batch.ended = true;
    batch.abandoned = false;
  }
  if (batch.reply) queue_reply(std::move(*batch.reply), batch.whole);
  queue_pieces(std::move(batch.pieces));
  if (batch.ended) {
    if (chunked_ && !head_only_) queue(std::string(kLastChunk));
    ended_ = true;
  }
  return !batch.abandoned;
}

void Connection::queue_reply(Reply reply, bool whole) {
  status_ = reply.status;
  ReplyFraming framing;
  if (whole) framing.length = reply.body.size();
  chunked_ = framing.chunked = !whole && reader_.http_1_1();
  const bool ends_with_connection = !whole && !chunked_;
  close_after_ |= ends_with_connection || service_.draining || input_ended_;
  framing.close = close_after_ = close_after_ || !reader_.keep_alive();
  Headers more;
  if (service_.hooks.answer_headers) more = service_.hooks.answer_headers(head());
  head_only_ |= has_no_body(reply.status);
  queue(reply_head(reply, head(), framing, more));
  std::vector<std::string> body;
  if (!reply.body.empty()) body.push_back(std::move(reply.body));
  queue_pieces(std::move(body));
}

void Connection::queue_pieces(std::vector<std::string> pieces) {
  std::size_t n = 0;
  for (const std::string& piece : pieces) n += piece.size();
  if (head_only_ && answer_) answer_->on_sent(n);
  if (n == 0 || head_only_) return;
  queued_payload_ += n;
  n_body_bytes_ += n;
  if (chunked_) queue(chunk_line(n));
  for (std::string& piece : pieces) queue(std::move(piece));
  if (chunked_) queue("\r\n");
}

void Connection::queue(std::string bytes) {
  if (!queued_.empty() && queued_.back().size() + bytes.size() <= kMaxJoinedBytes)
    queued_.back() += bytes;
  else
    queued_.push_back(std::move(bytes));
}

void Connection::send() {
  writing_ = true;
  set_timeout();
  sending_ = std::exchange(queued_, {});
  sending_payload_ = std::exchange(queued_payload_, 0);
  Buffers buffers;
  for (const std::string& bytes : sending_) buffers.emplace_back(bytes.data(), bytes.size());
  // A piece of a stream needs no round through the loop of events. The end of an answer takes it,
  // so that many requests at once do not nest.
  if (!ended_) consume(buffers, write_now(buffers));
  if (!buffers.empty()) return write(buffers);
  sent();
}

void Connection::sent() {
  writing_ = false;
  sending_.clear();
  if (answer_) answer_->on_sent(sending_payload_);
  if (state_ == State::answer) clear_deadline();
}

void Connection::on_progress() {
  if (state_ != State::closed) set_timeout();
}

void Connection::on_written(bool ok) {
  const auto self = shared_from_this();
  if (state_ == State::closed) return;
  if (!ok) return close();
  sent();
  if (state_ != State::answer) return;
  flush();
}

// The log and the counters, once for each request.
void Connection::end_request() {
  release_body();
  if (!std::exchange(named_, false)) return;
  service_.on_answered();
  if (service_.hooks.log)
    service_.hooks.log(head(), status_, n_body_bytes_, seconds_since(request_start_));
  if (answer_) answer_->finish();
}

void Connection::finish_answer() {
  end_request();
  answer_.reset();
  service_.on_idle(*this);
  if (close_after_ || service_.draining) return linger();
  status_ = 0;
  head_only_ = chunked_ = ended_ = false;
  n_body_bytes_ = 0;
  head_ = {};
  reader_ = RequestReader(service_.reader_limits());
  state_ = State::head;
  request_start_ = Clock::now();
  set_timeout();
  process();
}

}  // namespace weft::http
