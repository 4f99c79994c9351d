#pragma once
// Signals as events of one thread, and a way for other threads to wake it.

#include <csignal>

#include "weft/base/clock.h"

namespace weft::server {

enum class Event {
  none,       // the time is over
  terminate,  // SIGTERM or SIGINT
  reload,     // SIGHUP
  woken,      // wake() was called
};

// Make it before other threads: they inherit that the signals are blocked.
class Signals {
 public:
  Signals();   // throws IoError
  ~Signals();  // the signals stay blocked
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits for the next event. One thread at a time.
  Event wait();
  Event wait_until(Clock::time_point time);
  void wake();  // any thread
  // Whether the last terminate came from the process that started this one.
  bool from_parent() const { return from_parent_; }

 private:
  Event read(int timeout_ms);

  int signals_, wakes_;
  bool from_parent_ = false;
};

}  // namespace weft::server
