#include "deadline.h"

namespace weft::http {

void Deadline::set(Clock::time_point at) {
  at_ = at;
  if (at_ < timer_at_) start_timer();
}

void Deadline::stop() {
  stopped_ = true;
  timer_.cancel();
}

void Deadline::start_timer() {
  timer_at_ = at_;
  timer_.expires_at(at_);
  timer_.async_wait([this, weak = owner_](const boost::system::error_code& error) {
    const auto owner = weak.lock();
    if (!error && owner && !stopped_) on_timer();
  });
}

void Deadline::on_timer() {
  timer_at_ = Clock::time_point::max();
  if (Clock::now() >= at_) return passed_();
  if (at_ != Clock::time_point::max()) start_timer();
}

}  // namespace weft::http
