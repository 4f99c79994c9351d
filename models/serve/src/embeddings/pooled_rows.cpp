#include "embeddings/pooled_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::serve {
namespace {

bool needs_all_rows(Pooling mode) {
  return mode != Pooling::cls && mode != Pooling::last;
}

// What the state is divided by at the end.
double divisor_of(Pooling mode, double n) {
  switch (mode) {
    case Pooling::mean:
      return n;
    case Pooling::mean_sqrt_len:
      return std::sqrt(n);
    case Pooling::weighted_mean:
      return n * (n + 1) / 2;
    default:
      return 1;
  }
}

}  // namespace

PooledRows::PooledRows(const Poolings& poolings, std::size_t width)
    : modes_(poolings.modes().begin(), poolings.modes().end()),
      width_(width),
      per_token_(poolings == Pooling::none),
      all_rows_(std::ranges::any_of(modes_, needs_all_rows)),
      state_(modes_.size() * width) {}

bool PooledRows::needs(std::size_t t, std::size_t n) const {
  const auto has = [this](Pooling mode) { return std::ranges::find(modes_, mode) != modes_.end(); };
  return all_rows_ || (t == 0 && has(Pooling::cls)) || (t + 1 == n && has(Pooling::last));
}

void PooledRows::add(std::span<const float> row, std::size_t t, std::size_t n) {
  n_ = n;
  if (per_token_) {
    rows_.insert(rows_.end(), row.begin(), row.end());
    return;
  }
  for (std::size_t i = 0; i < modes_.size(); ++i)
    add(modes_[i], std::span(state_).subspan(i * width_, width_), row, t, n);
}

void PooledRows::add(Pooling mode, std::span<double> state, std::span<const float> row,
                     std::size_t t, std::size_t n) const {
  if (mode == Pooling::cls || mode == Pooling::last) {
    if (t == (mode == Pooling::cls ? 0 : n - 1)) std::ranges::copy(row, state.begin());
    return;
  }
  if (mode == Pooling::max && t > 0) {
    // A NaN stays, so that the result is refused.
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!(row[i] <= state[i]) && !std::isnan(state[i])) state[i] = row[i];
    return;
  }
  const double weight = mode == Pooling::weighted_mean ? static_cast<double>(t + 1) : 1;
  for (std::size_t i = 0; i < row.size(); ++i) state[i] = (t == 0 ? 0 : state[i]) + weight * row[i];
}

std::vector<float> PooledRows::take() {
  if (per_token_) return std::exchange(rows_, {});
  std::vector<float> values;
  values.reserve(state_.size());
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const double divisor = divisor_of(modes_[i / width_], static_cast<double>(n_));
    values.push_back(static_cast<float>(state_[i] / divisor));
  }
  return values;
}

}  // namespace weft::serve
