#include "weft/scheduler/message_check.h"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "weft/base/human_numbers.h"

namespace weft {
namespace {

// Around what MPIs send at once, and what they send only when the receiver is ready.
constexpr std::size_t kMessageSizes[] = {0,    1,     7,     64,    1000,   4095,
                                         4096, 16385, 65536, 70000, 300001, 4 << 20};
// Bytes of all ranks together.
constexpr std::size_t kMaxUnderWay = 256 << 20;

// The sizes that all ranks can send at once.
std::span<const std::size_t> message_sizes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto fits = [&](std::size_t size) { return 2 * n * (n - 1) * size <= kMaxUnderWay; };
  const auto end = std::ranges::find_if_not(kMessageSizes, fits);
  return {std::begin(kMessageSizes), end};
}

std::vector<std::byte> message_of(int from, int to, Channel channel, std::size_t n) {
  std::vector<std::byte> bytes(n);
  std::minstd_rand random(
      static_cast<unsigned>(from * 10007 + to * 101 + static_cast<int>(channel) + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

class Messages {
 public:
  Messages(Communicator& own, double timeout) : own_(own), timeout_(timeout) {}

  // All messages of a size are under way before the first one is taken, and the channel that was
  // served last is asked first.
  void exchange(std::size_t n) {
    for_others([&](int to) {
      for (const Channel channel : {Channel::data, Channel::control})
        own_.send(to, channel, message_of(own_.rank(), to, channel, n));
    });
    for_others([&](int from) {
      for (const Channel channel : {Channel::control, Channel::data}) expect(from, channel, n);
    });
  }

  // Rank 0 waits until all others have found what they expected.
  void finish() {
    if (own_.rank() != 0) return own_.send(0, Channel::control, {});
    for_others([&](int from) { own_.receive(from, Channel::control, {}, timeout_); });
  }

 private:
  template <class Use>
  void for_others(const Use& use) {
    for (int rank = 0; rank < own_.size(); ++rank)
      if (rank != own_.rank()) use(rank);
  }

  void expect(int from, Channel channel, std::size_t n) {
    std::vector<std::byte> bytes(n);
    own_.receive(from, channel, bytes, timeout_);
    if (bytes != message_of(from, own_.rank(), channel, n))
      throw RankError(from, fmt::format("a message of {} bytes from rank {} to rank {} arrived "
                                        "with other contents",
                                        n, from, own_.rank()));
  }

  Communicator& own_;
  double timeout_;
};

}  // namespace

std::string check_messages(Communicator& own, double timeout) {
  const auto sizes = message_sizes(own.size());
  try {
    Messages messages(own, timeout);
    for (const std::size_t n : sizes) messages.exchange(n);
    messages.finish();
  } catch (const std::exception& error) {
    own.abandon(error.what());
    throw;
  }
  return fmt::format("{} sizes up to {} between {} ranks ({}), all as sent", sizes.size(),
                     human_bytes(static_cast<std::int64_t>(sizes.back())), own.size(),
                     own.description());
}

}  // namespace weft
