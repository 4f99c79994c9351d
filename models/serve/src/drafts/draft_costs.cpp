#include "drafts/draft_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::serve {
namespace {

constexpr std::int64_t kFirstSteps = 4;    // measured before anything is guessed
constexpr std::int64_t kRefresh = 64;      // guessing steps after which a plain one is measured,
constexpr std::int64_t kEarlyRefresh = 8;  // or if the gain is small, so that errors count
constexpr double kSmallGain = 1.15;
constexpr double kMinGain = 1.05;           // below it, guesses are not worth their noise
constexpr double kMinFirstGain = 1.1;       // likewise of a kind that was never used
constexpr double kMaxLoss = 0.01;           // share of the time, by trials
constexpr double kTextTrials = 0.5;         // steps that each text may lose to kinds without a cost
constexpr double kForgetting = 0.95;        // what is known about acceptance fades by guess
constexpr double kPrior = 0.7;              // the acceptance that is expected of a new kind,
constexpr double kPriorWeight = 2;          // as if this many guesses had been seen
constexpr double kWidthSlope = 0.1;         // t(W) before it is known: 1 + slope (W - 1)
constexpr std::int64_t kCautiousSteps = 5;  // a new kind guesses 1, 1, 2, 2, 4, .. tokens at most

double expected_shape(std::int64_t width) {
  return 1 + kWidthSlope * static_cast<double>(width - 1);
}

}  // namespace

void DraftCosts::Recent::add(double value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kKept;
  n_ = std::min(n_ + 1, kKept);
  std::array<double, kKept> sorted = values_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(n_);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((n_ - 1) / 2);
  std::nth_element(sorted.begin(), middle, end);
  median_ = *middle;
}

DraftCosts::DraftCosts(const std::vector<double>& expected_costs) {
  for (const double cost : expected_costs) {
    kinds_.push_back({.expected_cost = cost});
    kinds_.back().fading.fill(1);
  }
}

void DraftCosts::stepped(std::int64_t width, double seconds) {
  spent_ += seconds;
  if (width < 1) return;
  ++n_steps_;
  if (width > kMaxWidth) return;
  Width& measured = widths_[static_cast<std::size_t>(width)];
  // The first step of a width pays for what is done once.
  if (std::exchange(measured.last, n_steps_) > 0) measured.seconds.add(seconds);
}

void DraftCosts::proposed(std::size_t kind, std::size_t n_guesses, double seconds, double extra) {
  if (n_guesses > 0) kinds_[kind].guess_seconds.add(seconds / static_cast<double>(n_guesses));
  spent_ += seconds + extra;
  kinds_[kind].lost += seconds + extra;
  if (n_guesses == 0) return;
  expected_more_ += expected_right(kinds_[kind], n_guesses);
  at_risk_ += std::max(choice_.loss, 0.0);
}

void DraftCosts::settled(std::size_t kind, Shape shape, std::size_t n_guesses,
                         std::size_t n_right) {
  Kind& k = kinds_[kind];
  ++k.n_settled;
  const std::size_t n_tried = std::min({n_right + 1, n_guesses, kMaxGuesses});
  for (std::size_t i = 0; i < n_tried; ++i) {
    k.fading[i] *= kForgetting;
    k.n_tried[i] = kForgetting * k.n_tried[i] + 1;
    k.n_right[i] = kForgetting * k.n_right[i] + (i < n_right ? 1 : 0);
  }
  const std::int64_t width = shape.width();
  const double more =
      step_seconds(width + static_cast<std::int64_t>(n_guesses)) - step_seconds(width);
  const double of_token = step_seconds(shape.n_texts) / static_cast<double>(shape.n_texts);
  k.lost += more - static_cast<double>(n_right) * of_token;
  k.lost = std::max(k.lost, -kMaxLoss * spent_);  // gains do not pay for later losses
}

void DraftCosts::begin_text() {
  for (Kind& kind : kinds_) kind.is_new_text = kind.expected_cost == 0;
}

// A width that was not measured is on the line through its neighbours; beyond the widest measured
// one, through that and the narrowest. With one measurement alone, the slope is the expected one.
double DraftCosts::step_seconds(std::int64_t width) const {
  const auto measured = [&](std::int64_t w) { return widths_[std::size_t(w)].seconds.size() > 0; };
  const auto seconds = [&](std::int64_t w) { return widths_[std::size_t(w)].seconds.median(); };
  std::int64_t first = 1, below = std::clamp<std::int64_t>(width, 1, kMaxWidth), above = below;
  while (below > 0 && !measured(below)) --below;
  while (above <= kMaxWidth && !measured(above)) ++above;
  if (below == width) return seconds(below);
  if (below == 0 && above > kMaxWidth) return 0;
  if (below == 0) return seconds(above) * expected_shape(width) / expected_shape(above);
  while (!measured(first)) ++first;
  const bool between = above <= kMaxWidth;
  const std::int64_t from = between ? below : first, to = between ? above : below;
  if (from == to) return seconds(from) * expected_shape(width) / expected_shape(from);
  const double slope = (seconds(to) - seconds(from)) / static_cast<double>(to - from);
  return seconds(to) + std::max(slope, 0.0) * static_cast<double>(width - to);
}

std::optional<double> DraftCosts::measured_seconds(std::int64_t width) const {
  if (width < 1 || width > kMaxWidth) return std::nullopt;
  const Recent& seconds = widths_[static_cast<std::size_t>(width)].seconds;
  if (seconds.size() == 0) return std::nullopt;
  return seconds.median();
}

bool DraftCosts::wants_plain_step(std::int64_t n_texts) {
  if (n_texts < 1 || n_texts > kMaxWidth) return false;
  Width& width = widths_[static_cast<std::size_t>(n_texts)];
  // The first one is not measured.
  if (static_cast<std::int64_t>(width.seconds.size()) + 1 >= kFirstSteps ||
      width.n_plain >= kFirstSteps * n_texts)
    return false;
  ++width.n_plain;
  return true;
}

double DraftCosts::guess_seconds(const Kind& kind) const {
  if (kind.guess_seconds.size() > 0) return kind.guess_seconds.median();
  return kind.expected_cost * step_seconds(1);
}

double DraftCosts::guess_seconds(std::size_t kind) const {
  return guess_seconds(kinds_[kind]);
}

// `before`: that of the previous position, which is expected of this one.
double DraftCosts::probability(const Kind& kind, std::size_t position, double before) const {
  const double prior = kPriorWeight * kind.fading[position];
  return (kind.n_right[position] + prior * before) / (kind.n_tried[position] + prior);
}

double DraftCosts::expected_right(const Kind& kind, std::size_t n) const {
  double expected = 0, all_right = 1, p = kPrior;
  for (std::size_t i = 0; i < std::min(n, kMaxGuesses); ++i) {
    p = probability(kind, i, p);
    all_right *= p;
    expected += all_right;
  }
  return expected;
}

DraftCosts::Choice DraftCosts::best_choice(const Kind& kind, Shape shape, std::size_t max) const {
  Choice best;
  const std::int64_t width = shape.width();
  const double tokens = static_cast<double>(shape.n_texts) + expected_more_;
  const double plain = step_seconds(width);
  const double guess = guess_seconds(kind);
  double more = 0, all_right = 1, p = kPrior;
  for (std::size_t n = 1; n <= max; ++n) {
    p = probability(kind, n - 1, p);
    all_right *= p;
    more += all_right;
    const double seconds = step_seconds(width + std::int64_t(n)) + static_cast<double>(n) * guess;
    const double gain = (tokens + more) / seconds / (tokens / plain);
    if (gain > best.gain) best = {n, gain, seconds - (tokens + more) * plain / tokens};
  }
  return best;
}

std::size_t DraftCosts::best_length(std::size_t kind, Shape shape, std::size_t max) {
  Kind& k = kinds_[kind];
  const std::int64_t room = std::max<std::int64_t>(kMaxWidth - shape.width(), 0);
  max = std::min({max, kMaxGuesses, static_cast<std::size_t>(room)});
  if (max == 0 || n_steps_ < kFirstSteps || step_seconds(1) == 0) return 0;
  if (std::exchange(k.is_new_text, false))
    k.lost = std::min(k.lost, kMaxLoss * spent_ - kTextTrials * step_seconds(shape.n_texts));
  if (k.n_settled < 2 * kCautiousSteps) max = std::min(max, std::size_t{1} << k.n_settled / 2);
  if (shape.n_guesses == 0) expected_more_ = at_risk_ = 0;  // the first guesses of a step
  const Choice choice = best_choice(k, shape, max);
  choice_ = choice;
  const Width& plain = widths_[static_cast<std::size_t>(shape.n_texts)];
  const std::int64_t refresh = choice.gain < kSmallGain ? kEarlyRefresh : kRefresh;
  if (plain.last > 0 && n_steps_ - plain.last >= refresh) return 0;
  if (choice.gain >= (k.n_settled == 0 ? kMinFirstGain : kMinGain)) return choice.n;
  // A kind that loses is tried again, as far as that is bearable.
  return k.lost + at_risk_ + choice.loss <= kMaxLoss * spent_ ? choice.n : 0;
}

}  // namespace weft::serve
