#pragma once
// Watches, on a thread of its own, how much memory the control group and the machine leave.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "weft/scheduler/memory_room.h"

namespace weft::serve {

struct WatchedRoom : MemoryRoom {
  // Bytes that the process may still take as planned: no more has to stay free.
  std::int64_t planned = std::numeric_limits<std::int64_t>::max();
};

// When memory is short, and how much is enough. The difference keeps what is given up from being
// taken again at once.
std::int64_t short_of(const WatchedRoom& room);   // less than this
std::int64_t enough_of(const WatchedRoom& room);  // at least this
bool is_short(const WatchedRoom& room);
bool is_enough(const WatchedRoom& room);

class MemoryWatch {
 public:
  // `room` is asked a few times a second, and `short_or_over` called with what it says while memory
  // is short, and afterwards until there is enough. Both must not throw or wait for the watch.
  MemoryWatch(std::function<WatchedRoom()> room,
              std::function<void(const WatchedRoom& room)> short_or_over);
  ~MemoryWatch();

 private:
  void loop();

  const std::function<WatchedRoom()> room_;
  const std::function<void(const WatchedRoom&)> short_or_over_;
  std::mutex mutex_;
  std::condition_variable stops_changed_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace weft::serve
