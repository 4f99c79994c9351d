#include "weft/scheduler/poll.h"

namespace weft {

bool Poll::goes_on() {
  constexpr std::chrono::milliseconds kInterval{50};
  if (Clock::now() < next_) return true;
  next_ = Clock::now() + kInterval;  // if it throws
  const bool result = go_on_();
  next_ = Clock::now() + kInterval;
  return result;
}

}  // namespace weft
