// How a rank waits for a message: whichever way it comes, it is asked for.

#include "weft/scheduler/communicator.h"

#include <algorithm>
#include <thread>

#include "weft/base/processor.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kPollInterval{50};

// The time between two looks at a message that has not arrived. Ranks that share a core must give
// it to the one that they wait for, and ranks that wait for minutes must not keep it busy. Two
// ranks that answer each other must not wait for each other's sleeps, which make the other one
// sleep, too: they sleep only after more time than a short sleep takes, and for a small share of
// the time waited. Measured with ranks on two cores, an answer then takes 10 to 70 us, and 200 to
// 700 us if they sleep after 50 us. While messages are on their way they do not sleep in the
// first second: MPI carries a large one in parts, each time that it is called.
class LookInterval {
  using Clock = std::chrono::steady_clock;

 public:
  Clock::duration waited() const { return now_ - start_; }
  Clock::time_point now() const { return now_; }

  void pass(bool on_their_way) {
    if (on_their_way && waited() < kCarried) quiet_since_ = now_;
    const Clock::duration quiet = now_ - quiet_since_;
    if (waited() < kYield) {
      for (int i = 0; i < kPauses; ++i) spin_pause();
    } else if (quiet < kSleep) {
      std::this_thread::yield();
    } else {
      const Clock::duration share = quiet / 8, most = quiet < kIdle ? kLongest : kIdleSleep;
      std::this_thread::sleep_for(std::clamp<Clock::duration>(share, kShortest, most));
    }
    now_ = Clock::now();
  }

 private:
  static constexpr int kPauses = 16;
  static constexpr std::chrono::microseconds kYield{5}, kSleep{200}, kShortest{10}, kLongest{1000};
  static constexpr std::chrono::milliseconds kCarried{1000}, kIdle{5000}, kIdleSleep{10};
  const Clock::time_point start_ = Clock::now();
  Clock::time_point now_ = start_, quiet_since_ = start_;
};

}  // namespace

std::int64_t Communicator::wait(int from, Channel channel, double seconds,
                                const std::function<void()>& poll) {
  std::int64_t n = arrived(from, channel);
  LookInterval interval;
  while (n < 0) {
    interval.pass(n == kOnItsWay);
    n = arrived(from, channel);
    if (n >= 0) break;
    if (seconds > 0 && std::chrono::duration<double>(interval.waited()).count() >= seconds)
      throw RankError(from, fmt::format("rank {} did not answer within {} s", from, seconds));
    if (!poll || interval.now() < next_poll_) continue;
    next_poll_ = interval.now() + kPollInterval;
    poll();
  }
  return n;
}

void Communicator::receive(int from, Channel channel, std::span<std::byte> bytes, double seconds,
                           const std::function<void()>& poll) {
  const std::int64_t n = wait(from, channel, seconds, poll);
  if (n != static_cast<std::int64_t>(bytes.size())) {
    throw RankError(from, fmt::format("rank {} sent {} bytes, expected {}", from, n, bytes.size()));
  }
  take(from, channel, bytes);
}

std::vector<std::byte> Communicator::receive(int from, Channel channel, double seconds,
                                             const std::function<void()>& poll) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(wait(from, channel, seconds, poll)));
  take(from, channel, bytes);
  return bytes;
}

}  // namespace weft
