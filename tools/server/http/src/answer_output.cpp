#include "answer_output.h"

#include <chrono>
#include <utility>

#include "reply_text.h"

namespace weft::http {
namespace {

// Short strings are joined: one buffer less for the operating system to gather.
constexpr std::size_t kMaxJoinedBytes = std::size_t{16} << 10;

}  // namespace

void AnswerOutput::begin(std::shared_ptr<Answer> answer) {
  answer_ = std::move(answer);
  head_only_ = answer_->request().method == "HEAD";
}

void AnswerOutput::reset() {
  answer_.reset();
  status_ = 0;
  head_only_ = chunked_ = ended_ = events_ = false;
  n_body_bytes_ = 0;
}

bool AnswerOutput::collect() {
  Answer::Batch batch = answer_->take();
  if (batch.abandoned && status_ == 0 && !batch.reply) {
    batch.reply =
        service_.hooks.refuse(answer_->request(), {500, "internal error", "server_error"});
    batch.whole = batch.ended = true;
    batch.abandoned = false;
  }
  if (batch.reply) add_reply(std::move(*batch.reply), batch.whole);
  add_pieces(std::move(batch.pieces));
  if (batch.ended) {
    if (chunked_ && !head_only_) add(std::string(kLastChunk));
    ended_ = true;
  }
  return !batch.abandoned;
}

void AnswerOutput::add_reply(Reply reply, bool whole) {
  status_ = reply.status;
  ReplyFraming framing;
  if (whole) framing.length = reply.body.size();
  chunked_ = framing.chunked = !whole && reader_.http_1_1();
  events_ = !whole && reply.content_type.starts_with("text/event-stream");
  const bool ends_with_connection = !whole && !chunked_;
  closes_ |= ends_with_connection || service_.draining;
  framing.close = closes_ = closes_ || !reader_.keep_alive();
  Headers more;
  if (service_.hooks.answer_headers) more = service_.hooks.answer_headers(answer_->request());
  head_only_ |= has_no_body(reply.status);
  add(reply_head(reply, answer_->request(), framing, more));
  std::vector<std::string> body;
  if (!reply.body.empty()) body.push_back(std::move(reply.body));
  add_pieces(std::move(body));
}

void AnswerOutput::add_pieces(std::vector<std::string> pieces) {
  std::size_t n = 0;
  for (const std::string& piece : pieces) n += piece.size();
  if (head_only_) answer_->on_sent(n);
  if (n == 0 || head_only_) return;
  queued_payload_ += n;
  n_body_bytes_ += n;
  if (chunked_) add(chunk_line(n));
  for (std::string& piece : pieces) add(std::move(piece));
  if (chunked_) add("\r\n");
}

std::string AnswerOutput::skipped_bytes() const {
  constexpr std::string_view kComment = ":\n\n";
  if (status_ == 0) return std::string(reader_.http_1_1() ? kContinue : "");
  if (!events_ || head_only_) return {};
  if (!chunked_) return std::string(kComment);
  return chunk_line(kComment.size()) + std::string(kComment) + "\r\n";
}

void AnswerOutput::add(std::string bytes) {
  if (!queued_.empty() && queued_.back().size() + bytes.size() <= kMaxJoinedBytes)
    queued_.back() += bytes;
  else
    queued_.push_back(std::move(bytes));
}

Buffers AnswerOutput::send() {
  sending_ = std::exchange(queued_, {});
  sending_payload_ = std::exchange(queued_payload_, 0);
  Buffers buffers;
  for (const std::string& bytes : sending_) buffers.emplace_back(bytes.data(), bytes.size());
  return buffers;
}

void AnswerOutput::sent() {
  sending_.clear();
  if (answer_) answer_->on_sent(sending_payload_);
}

bool ClientProbe::waits(Transport& transport, const AnswerOutput& output) {
  const std::string bytes = output.skipped_bytes();
  if (!transport.may_be_read()) return false;
  // Nothing tells the two apart before the next write of the answer.
  if (bytes.empty()) return true;
  if (!timer_.due(std::chrono::steady_clock::now())) return true;
  return transport.write_now({boost::asio::buffer(bytes)}) == bytes.size();
}

}  // namespace weft::http
