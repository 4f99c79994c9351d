#include "square_sums.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace weft::measure {
namespace {

// Sums of doubles depend on their order, which differs with the workers. Sums of multiples of one
// number do not, as long as they are exact. A square is divided into multiples of 1, of 2^-40 and
// of 2^-80 (the rest is rounded), and each kind is summed separately. The sums are exact
// while that of the whole parts is below 2^53 and there are at most 2^13 squares.
constexpr double kWhole = 0x1.8p52, kMiddle = 0x1.8p12, kSmall = 0x1.8p-28;

class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace

SquareSums::Parts::Parts(std::size_t n_matrices, std::size_t n_sums)
    : whole(n_sums),
      middle(n_sums),
      small(n_sums),
      rows(n_matrices),
      used(n_matrices),
      locks(std::make_unique<std::atomic_flag[]>(n_matrices)) {}

SquareSums::SquareSums(std::int64_t n_matrices, std::int64_t n_cols)
    : n_matrices_(n_matrices),
      n_cols_(n_cols),
      sums_(static_cast<std::size_t>(n_matrices * n_cols)),
      rows_(static_cast<std::size_t>(n_matrices)) {}

void SquareSums::add_lanes(std::int32_t n) {
  const auto wanted = static_cast<std::size_t>(n_matrices_ == 1 ? n : 1);
  while (parts_.size() < wanted) parts_.emplace_back(rows_.size(), sums_.size());
}

void SquareSums::add(std::int32_t lane, std::int64_t matrix, const float* x, ColRange cols,
                     bool counts) noexcept {
  Parts& parts = parts_[n_matrices_ == 1 ? static_cast<std::size_t>(lane) : 0];
  const auto m = static_cast<std::size_t>(matrix);
  const SpinLock lock(parts.locks[m]);
  const std::int64_t first = matrix * n_cols_;
  double *whole = parts.whole.data() + first, *middle = parts.middle.data() + first,
         *small = parts.small.data() + first;
  for (std::int64_t c = cols.begin; c < cols.end; ++c) {
    const auto value = static_cast<double>(x[c]);
    const double square = value * value;
    const double top = (square + kWhole) - kWhole;
    const double rest = square - top;
    const double mid = (rest + kMiddle) - kMiddle;
    whole[c] += top;
    middle[c] += mid;
    small[c] += ((rest - mid) + kSmall) - kSmall;
  }
  parts.used[m] = 1;
  if (counts) ++parts.rows[m];
}

bool SquareSums::used(std::int64_t matrix) const {
  const auto m = static_cast<std::size_t>(matrix);
  return std::ranges::any_of(parts_, [m](const Parts& parts) { return parts.used[m] != 0; });
}

double SquareSums::pending(std::size_t at) const {
  double whole = 0, middle = 0, small = 0;
  for (const Parts& parts : parts_) {
    whole += parts.whole[at];
    middle += parts.middle[at];
    small += parts.small[at];
  }
  return whole + (middle + small);
}

std::optional<std::int64_t> SquareSums::find_nonfinite() const {
  for (std::int64_t m = 0; m < n_matrices_; ++m) {
    if (!used(m)) continue;
    for (std::int64_t c = 0; c < n_cols_; ++c) {
      if (!std::isfinite(pending(static_cast<std::size_t>(m * n_cols_ + c)))) return c;
    }
  }
  return std::nullopt;
}

void SquareSums::keep() {
  for (std::int64_t m = 0; m < n_matrices_; ++m) {
    if (!used(m)) continue;
    const auto first = static_cast<std::size_t>(m * n_cols_);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(n_cols_); ++i)
      sums_[i] += pending(i);
    for (const Parts& parts : parts_)
      rows_[static_cast<std::size_t>(m)] += parts.rows[static_cast<std::size_t>(m)];
  }
  drop();
}

void SquareSums::drop() {
  for (Parts& parts : parts_) {
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      if (parts.used[m] == 0) continue;
      for (std::vector<double>* part : {&parts.whole, &parts.middle, &parts.small})
        std::fill_n(part->begin() + static_cast<std::ptrdiff_t>(m) * n_cols_, n_cols_, 0.0);
      parts.rows[m] = 0;
      parts.used[m] = 0;
    }
  }
}

}  // namespace weft::measure
