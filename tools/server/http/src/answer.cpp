#include "answer.h"

#include <utility>

namespace weft::http {
namespace {

// Pieces up to this size are joined: one buffer less to send.
constexpr std::size_t kMaxJoined = std::size_t{16} << 10;

class AnswerExchange final : public Exchange {
 public:
  explicit AnswerExchange(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  ~AnswerExchange() override { answer_->abandon(); }
  AnswerExchange(const AnswerExchange&) = delete;
  AnswerExchange& operator=(const AnswerExchange&) = delete;

  const Request& request() const override { return answer_->request(); }
  void reply(Reply reply) override { answer_->reply(std::move(reply)); }
  void begin(Reply begin) override { answer_->begin(std::move(begin)); }
  void write(std::string piece) override { answer_->write(std::move(piece)); }
  void end() override { answer_->end(); }
  std::size_t unsent() const override { return answer_->unsent(); }
  void on_client_left(std::function<void()> left) override { answer_->on_left(std::move(left)); }

 private:
  std::shared_ptr<Answer> answer_;
};

}  // namespace

// Applies a change of the batch, and wakes the I/O thread unless it already knows.
template <class Change>
void Answer::change(std::size_t n_bytes, const Change& apply) {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::open) return;
    apply();
    unsent_ += n_bytes;
    if (std::exchange(woken_, true)) return;
  }
  wake_();  // outside of the lock, which the I/O thread takes next
}

void Answer::reply(Reply reply) {
  change(reply.body.size(), [&] {
    batch_.reply = std::move(reply);
    batch_.whole = batch_.ended = ended_ = true;
  });
}

void Answer::begin(Reply begin) {
  change(begin.body.size(), [&] { batch_.reply = std::move(begin); });
}

void Answer::write(std::string piece) {
  if (piece.empty()) return;
  change(piece.size(), [&] {
    auto& pieces = batch_.pieces;
    if (!pieces.empty() && pieces.back().size() + piece.size() <= kMaxJoined)
      pieces.back() += piece;
    else
      pieces.push_back(std::move(piece));
  });
}

void Answer::end() {
  change(0, [&] { batch_.ended = ended_ = true; });
}

void Answer::abandon() {
  if (ended()) return;
  change(0, [&] { batch_.abandoned = true; });
}

void Answer::on_left(std::function<void()> left) {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::open) left_ = std::move(left);
    if (phase_ != Phase::left) return;
  }
  left();
}

bool Answer::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Answer::Batch Answer::take() {
  const std::lock_guard lock(mutex_);
  woken_ = false;
  return std::exchange(batch_, {});
}

void Answer::leave() {
  std::function<void()> left;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::open) return;
    phase_ = Phase::left;
    left = std::exchange(left_, nullptr);
    batch_ = {};
    unsent_ = 0;
  }
  if (left) left();
}

void Answer::finish() {
  std::function<void()> left;  // destroyed outside of the lock
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::open) return;
  phase_ = Phase::finished;
  left = std::exchange(left_, nullptr);
}

std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Answer> answer) {
  return std::make_shared<AnswerExchange>(std::move(answer));
}

}  // namespace weft::http
