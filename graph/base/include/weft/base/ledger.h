#pragma once
// The memory that a process takes beside the plans of its sessions, by purpose: what clients and
// callers can make grow. Each such thing takes its bytes before it allocates them, and gives them
// back; all purposes together have one limit, which is what the budget leaves.
//
// Threads: all functions may be called from any thread, except those of one Taken.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

enum class Account : std::uint8_t {
  bodies,     // of HTTP requests, and what was parsed from them
  texts,      // requests that wait or run, and the texts of models that were unloaded
  grammars,   // compiled grammars and schemas, and how far texts have read them
  snapshots,  // on their way to the disk, and the index of those that are there
  embedders,  // sessions beside those of texts
};
inline constexpr std::size_t kAccounts = 5;
std::string_view to_string(Account account);

class Ledger {
 public:
  struct Line {
    Account account;
    std::int64_t used, peak;
  };

  constexpr Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // For all accounts together; what is taken already stays taken. Without a limit until then.
  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  std::int64_t limit() const { return limit_; }
  std::int64_t used() const { return used_; }
  std::array<Line, kAccounts> lines() const;

  // False, and nothing is taken, if that would exceed the limit. REQUIRES: bytes >= 0.
  [[nodiscard]] bool take(Account account, std::int64_t bytes);
  // Takes them in any case: they are there already. A negative number gives bytes back.
  void change(Account account, std::int64_t bytes);

  // "3.0 MiB for grammars: 11.0 MiB of 12.0 MiB are taken (bodies 10.0 MiB, texts 1.0 MiB)".
  std::string refusal(Account account, std::int64_t bytes) const;

 private:
  struct Counts {
    std::atomic<std::int64_t> used = 0, peak = 0;
  };
  void count(Account account, std::int64_t bytes);

  std::atomic<std::int64_t> limit_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> used_ = 0;
  std::array<Counts, kAccounts> counts_ = {};
};

// The ledger of this process.
Ledger& process_ledger();

// Bytes of one thing in an account, given back when it is destroyed.
class Taken {
 public:
  explicit Taken(Account account, Ledger& ledger = process_ledger())
      : ledger_(&ledger), account_(account) {}
  ~Taken() { ledger_->change(account_, -bytes_); }
  Taken(Taken&& other) noexcept
      : ledger_(other.ledger_), account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
  Taken& operator=(Taken&& other) noexcept {
    std::swap(ledger_, other.ledger_), std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::int64_t bytes() const { return bytes_; }
  // From now on it has this many. False, and nothing changes, if that would exceed the limit.
  [[nodiscard]] bool resize(std::int64_t bytes);
  void require(std::int64_t bytes);  // as resize(), but throws LedgerError with the refusal
  void set(std::int64_t bytes);      // as resize(), whatever the limit is

 private:
  Ledger* ledger_;
  Account account_;
  std::int64_t bytes_ = 0;
};

// Blocks of at least a MiB are mapped alone, and free memory at the end of the heap is given back.
// By default glibc raises both limits when such a block is freed, and keeps what follows. Call it
// before there are threads. No effect with other C libraries.
void return_large_blocks();

// Gives back what the heap has free between other blocks. Takes milliseconds.
void trim_heap();

}  // namespace weft
