// A link that is slower than the one between the ranks: every message carries the time at which it
// may arrive, by a clock that all processes of a machine share.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "weft/scheduler/link.h"

namespace weft {
namespace {

class SlowedCommunicator final : public Communicator {
 public:
  SlowedCommunicator(Communicator& inner, const LinkSpeed& link)
      : inner_(inner), link_(link), held_(static_cast<std::size_t>(inner.size() * kChannels)) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string_view description() const override { return inner_.description(); }
  void abandon(const std::string& why) noexcept override { inner_.abandon(why); }

  void send(int to, Channel channel, std::span<const std::byte> bytes) override {
    free_ = std::max(free_, now()) + static_cast<double>(bytes.size()) / link_.bytes_per_second;
    const double arrives = free_ + link_.latency;
    parcel_.resize(sizeof(arrives) + bytes.size());
    std::memcpy(parcel_.data(), &arrives, sizeof(arrives));
    if (!bytes.empty()) std::memcpy(parcel_.data() + sizeof(arrives), bytes.data(), bytes.size());
    inner_.send(to, channel, parcel_);
  }

  std::int64_t arrived(int from, Channel channel) override {
    Held& held = held_of(from, channel);
    if (!held.full) {
      const std::int64_t n = inner_.arrived(from, channel);
      if (n < 0) return n;
      held.parcel.resize(static_cast<std::size_t>(n));
      inner_.take(from, channel, held.parcel);
      held.full = true;
    }
    double arrives = 0;
    std::memcpy(&arrives, held.parcel.data(), sizeof(arrives));
    return now() < arrives ? -1 : static_cast<std::int64_t>(held.parcel.size() - sizeof(arrives));
  }

  void take(int from, Channel channel, std::span<std::byte> bytes) override {
    Held& held = held_of(from, channel);
    if (!bytes.empty())
      std::memcpy(bytes.data(), held.parcel.data() + sizeof(double), bytes.size());
    held.full = false;
  }

 private:
  // The next message of a rank, which may not have arrived yet.
  struct Held {
    std::vector<std::byte> parcel;
    bool full = false;
  };

  static double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  }

  Held& held_of(int from, Channel channel) {
    return held_[static_cast<std::size_t>(from) * kChannels + static_cast<std::size_t>(channel)];
  }

  Communicator& inner_;
  const LinkSpeed link_;
  std::vector<Held> held_;
  std::vector<std::byte> parcel_;  // the one that is sent
  double free_ = 0;                // when the link has sent all that it was given
};

}  // namespace

std::unique_ptr<Communicator> slowed_communicator(Communicator& inner, const LinkSpeed& link) {
  return std::make_unique<SlowedCommunicator>(inner, link);
}

}  // namespace weft
