#pragma once
// A point in time that moves often. Its timer is not set anew each time: when it fires too early,
// it is set again. Used on the I/O thread only.

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "weft/base/clock.h"

namespace weft::http {

class Deadline {
 public:
  explicit Deadline(boost::asio::io_context& io) : timer_(io) {}

  // `passed` is called when a deadline passes, unless `owner`, which this is a part of, is gone.
  void watch(std::weak_ptr<void> owner, std::function<void()> passed) {
    owner_ = std::move(owner);
    passed_ = std::move(passed);
  }
  void set(Clock::time_point at);
  void set_after(Clock::duration wait) { set(Clock::now() + wait); }
  void clear() { at_ = Clock::time_point::max(); }
  // No deadline passes any more.
  void stop();

 private:
  void start_timer();
  void on_timer();

  boost::asio::steady_timer timer_;
  std::weak_ptr<void> owner_;
  std::function<void()> passed_;
  bool stopped_ = false;
  Clock::time_point at_ = Clock::time_point::max();
  Clock::time_point timer_at_ = Clock::time_point::max();  // when it fires
};

}  // namespace weft::http
