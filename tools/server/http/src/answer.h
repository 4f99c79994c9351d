#pragma once
// The answer to one request, between the threads that write it and the I/O thread that sends it.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weft/http/exchange.h"

namespace weft::http {

class Answer {
 public:
  // The output since the last take().
  struct Batch {
    std::optional<Reply> reply;  // the head, with a whole body or the first piece
    bool whole = false;          // `reply` is complete
    std::vector<std::string> pieces;
    bool ended = false;
    bool abandoned = false;  // nobody is left to complete the answer
  };

  // `wake` makes the I/O thread call take(). It is called after a write, and not again until take()
  // is; also when the server is gone.
  Answer(Request request, std::function<void()> wake)
      : request_(std::move(request)), wake_(std::move(wake)) {}

  const Request& request() const { return request_; }

  // Any thread. REQUIRES: the order that Exchange describes.
  void reply(Reply reply);
  void begin(Reply begin);
  void write(std::string piece);
  void end();
  void abandon();
  std::size_t unsent() const { return unsent_; }
  void on_left(std::function<void()> left);

  // The I/O thread.
  Batch take();
  bool ended() const;  // complete, though not yet sent
  void on_sent(std::size_t n_bytes) { unsent_ -= n_bytes; }
  // The client has left, or the answer is complete: later output is dropped.
  void leave();
  void finish();

 private:
  template <class Change>
  void change(std::size_t n_bytes, const Change& apply);

  const Request request_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  Batch batch_;
  bool woken_ = false;
  bool ended_ = false;
  enum class Phase { open, left, finished } phase_ = Phase::open;
  std::function<void()> left_;
  std::atomic<std::size_t> unsent_ = 0;
};

// The exchange that a handler gets. Abandons the answer when it is destroyed.
std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Answer> answer);

}  // namespace weft::http
