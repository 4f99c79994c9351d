// Ranks that are threads of this process: a queue of bytes for each pair of them and each channel.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>

#include "weft/scheduler/communicator.h"

namespace weft {
namespace {

constexpr int kMaxThreadRanks = 1024;

// Messages of one rank for another, each behind its size, in a ring that grows only if more bytes
// are under way than it holds.
class MessageQueue {
 public:
  void push(std::span<const std::byte> message) {
    const std::uint64_t n = message.size();
    const std::lock_guard lock(mutex_);
    reserve(used_ + sizeof(n) + message.size());
    append(std::as_bytes(std::span(&n, 1)));
    append(message);
    sent_.store(sent_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // The size of the oldest message; -1: there is none.
  std::int64_t next_size() {
    if (sent_.load(std::memory_order_acquire) == taken_) return -1;
    std::uint64_t n = 0;
    const std::lock_guard lock(mutex_);
    copy(0, std::as_writable_bytes(std::span(&n, 1)));
    return static_cast<std::int64_t>(n);
  }

  // REQUIRES: next_size() is the size of `message`.
  void pop(std::span<std::byte> message) {
    const std::lock_guard lock(mutex_);
    copy(sizeof(std::uint64_t), message);
    const std::size_t n = sizeof(std::uint64_t) + message.size();
    first_ = (first_ + n) & (ring_.size() - 1);
    used_ -= n;
    ++taken_;
  }

 private:
  void reserve(std::size_t n) {
    if (n <= ring_.size()) return;
    std::vector<std::byte> larger(std::bit_ceil(std::max<std::size_t>(n, 64)));
    copy(0, std::span(larger).first(used_));
    ring_ = std::move(larger);
    first_ = 0;
  }

  void append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::size_t at = (first_ + used_) & (ring_.size() - 1);
    const std::size_t straight = std::min(bytes.size(), ring_.size() - at);
    std::memcpy(ring_.data() + at, bytes.data(), straight);
    std::memcpy(ring_.data(), bytes.data() + straight, bytes.size() - straight);
    used_ += bytes.size();
  }

  // From `offset` behind the first byte under way.
  void copy(std::size_t offset, std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    const std::size_t at = (first_ + offset) & (ring_.size() - 1);
    const std::size_t straight = std::min(bytes.size(), ring_.size() - at);
    std::memcpy(bytes.data(), ring_.data() + at, straight);
    std::memcpy(bytes.data() + straight, ring_.data(), bytes.size() - straight);
  }

  std::mutex mutex_;
  std::vector<std::byte> ring_;  // a power of two
  std::size_t first_ = 0, used_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::uint64_t taken_ = 0;  // only the receiver counts, so that it looks without the mutex
};

// What the endpoints share.
class Hub {
 public:
  explicit Hub(int n)
      : n_(static_cast<std::size_t>(n)), queues_(n_ * n_ * kChannels), lost_(n_), reasons_(n_) {}
  ~Hub() {
    for (const std::atomic<MessageQueue*>& queue : queues_) delete queue.load();
  }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  int size() const { return static_cast<int>(n_); }

  // Null until the first message.
  MessageQueue* find_queue(int from, int to, Channel channel) {
    return queue_slot(from, to, channel).load(std::memory_order_acquire);
  }
  // Only `from` calls this, one thread at a time.
  MessageQueue& make_queue(int from, int to, Channel channel) {
    std::atomic<MessageQueue*>& slot = queue_slot(from, to, channel);
    if (!slot.load(std::memory_order_relaxed))
      slot.store(new MessageQueue, std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
  }

  void lose(int rank, std::string why) {
    const auto i = static_cast<std::size_t>(rank);
    const std::lock_guard lock(mutex_);
    if (lost_[i].load(std::memory_order_relaxed)) return;
    reasons_[i] = std::move(why);
    lost_[i].store(true, std::memory_order_release);
  }
  // The first reason stays, so that it is read without the mutex. Null: the rank is there.
  const std::string* why_lost(int rank) const {
    const auto i = static_cast<std::size_t>(rank);
    return lost_[i].load(std::memory_order_acquire) ? &reasons_[i] : nullptr;
  }

 private:
  std::atomic<MessageQueue*>& queue_slot(int from, int to, Channel channel) {
    const std::size_t pair = static_cast<std::size_t>(from) * n_ + static_cast<std::size_t>(to);
    return queues_[pair * kChannels + static_cast<std::size_t>(channel)];
  }

  const std::size_t n_;
  std::vector<std::atomic<MessageQueue*>> queues_;
  std::mutex mutex_;
  std::vector<std::atomic<bool>> lost_;
  std::vector<std::string> reasons_;
};

[[noreturn]] void fail_lost(int rank, const std::string& why) {
  throw RankError(rank, fmt::format("rank {} is lost: {}", rank, why));
}

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~ThreadRank() override { abandon("it ended"); }

  int rank() const override { return rank_; }
  int size() const override { return hub_->size(); }
  std::string_view description() const override { return "in process"; }

  void send(int to, Channel channel, std::span<const std::byte> bytes) override {
    if (const std::string* why = hub_->why_lost(to)) fail_lost(to, *why);
    hub_->make_queue(rank_, to, channel).push(bytes);
  }

  std::int64_t arrived(int from, Channel channel) override {
    // Asked first: a rank that is lost by now has sent all that it will send.
    const std::string* why = hub_->why_lost(from);
    MessageQueue* queue = hub_->find_queue(from, rank_, channel);
    const std::int64_t n = queue ? queue->next_size() : kNotArrived;
    if (n < 0 && why) fail_lost(from, *why);
    return n;
  }

  void take(int from, Channel channel, std::span<std::byte> bytes) override {
    hub_->find_queue(from, rank_, channel)->pop(bytes);
  }

  void abandon(const std::string& why) noexcept override {
    try {
      hub_->lose(rank_, why);
    } catch (...) {  // no memory for the reason
      hub_->lose(rank_, {});
    }
  }

 private:
  const std::shared_ptr<Hub> hub_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> in_process_communicators(int n) {
  if (n < 1 || n > kMaxThreadRanks)
    fail<ValueError>("ranks must be 1 to {}, got {}", kMaxThreadRanks, n);
  const auto hub = std::make_shared<Hub>(n);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(std::make_unique<ThreadRank>(hub, i));
  return ranks;
}

}  // namespace weft
