#include "weft/base/ledger.h"

#include <algorithm>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"

namespace weft {
namespace {

void raise_to(std::atomic<std::int64_t>& peak, std::int64_t bytes) {
  std::int64_t known = peak;
  while (known < bytes && !peak.compare_exchange_weak(known, bytes)) {
  }
}

}  // namespace

std::string_view to_string(Account account) {
  switch (account) {
    case Account::bodies:
      return "bodies";
    case Account::texts:
      return "texts";
    case Account::grammars:
      return "grammars";
    case Account::snapshots:
      return "snapshots";
    case Account::embedders:
      return "embedders";
  }
  return "";
}

std::array<Ledger::Line, kAccounts> Ledger::lines() const {
  std::array<Line, kAccounts> lines{};
  for (std::size_t i = 0; i < kAccounts; ++i)
    lines[i] = {static_cast<Account>(i), counts_[i].used, counts_[i].peak};
  return lines;
}

void Ledger::count(Account account, std::int64_t bytes) {
  Counts& counts = counts_[static_cast<std::size_t>(account)];
  raise_to(counts.peak, counts.used.fetch_add(bytes) + bytes);
}

bool Ledger::take(Account account, std::int64_t bytes) {
  std::int64_t used = used_;
  do {
    if (bytes > 0 && used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  count(account, bytes);
  return true;
}

void Ledger::change(Account account, std::int64_t bytes) {
  used_ += bytes;
  count(account, bytes);
}

std::string Ledger::refusal(Account account, std::int64_t bytes) const {
  std::vector<std::string> parts;
  std::int64_t used = 0;
  for (const Line& line : lines()) {
    used += line.used;
    if (line.used > 0)
      parts.push_back(fmt::format("{} {}", to_string(line.account), human_bytes(line.used)));
  }
  const std::string of = parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
  return fmt::format("{} for {}: {} of {} are taken{}", human_bytes(bytes), to_string(account),
                     human_bytes(used), human_bytes(limit_), of);
}

// No destructor: threads may use it while the process ends.
Ledger& process_ledger() {
  static constinit Ledger ledger;
  return ledger;
}

bool Taken::resize(std::int64_t bytes) {
  if (bytes > bytes_ && !ledger_->take(account_, bytes - bytes_)) return false;
  if (bytes < bytes_) ledger_->change(account_, bytes - bytes_);
  bytes_ = bytes;
  return true;
}

void Taken::require(std::int64_t bytes) {
  if (!resize(bytes)) fail<LedgerError>("{}", ledger_->refusal(account_, bytes - bytes_));
}

void Taken::set(std::int64_t bytes) {
  ledger_->change(account_, bytes - bytes_);
  bytes_ = bytes;
}

void return_large_blocks() {
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kLarge);
#endif
}

void trim_heap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace weft
