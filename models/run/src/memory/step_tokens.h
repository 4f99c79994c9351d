#pragma once
// The tokens of one step, and by how much each of their sequences grows. Does not allocate after
// construction.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::run {

// The growth of a sequence by the positions from .. to - 1.
struct Growth {
  std::int32_t sequence = 0;
  std::int64_t from = 0, to = 0;
  std::span<const std::int64_t> marks = {};  // Session::mark(), ascending
};

// The place of a step's token.
struct TokenPlace {
  std::int32_t sequence = 0;
  std::int64_t position = 0;
};

class StepTokens {
 public:
  // Steps have at most `max_tokens` tokens.
  StepTokens(std::int64_t max_tokens, std::int64_t n_sequences)
      : growth_of_(static_cast<std::size_t>(n_sequences), -1) {
    tokens_.reserve(static_cast<std::size_t>(max_tokens));
    growths_.reserve(static_cast<std::size_t>(std::min(max_tokens, n_sequences)));
  }

  std::span<const TokenPlace> tokens() const { return tokens_; }
  // Each sequence once, in the order of their first tokens.
  std::span<const Growth> growths() const { return growths_; }
  std::span<Growth> growths() { return growths_; }

  void clear() {
    for (const Growth& g : growths_) growth_of_[static_cast<std::size_t>(g.sequence)] = -1;
    growths_.clear();
    tokens_.clear();
  }
  // Both add a token of a sequence that has `length` tokens before the step. append() adds it
  // behind those of the step, and returns the length with it.
  std::int64_t append(std::int32_t sequence, std::int64_t length) {
    std::int64_t& to = growth(sequence, length).to;
    tokens_.push_back({sequence, to});
    return ++to;
  }
  // One that the sequence has is computed or read again, so that it does not grow.
  void repeat(std::int32_t sequence, std::int64_t length, std::int64_t position) {
    growth(sequence, length);
    tokens_.push_back({sequence, position});
  }

 private:
  Growth& growth(std::int32_t sequence, std::int64_t length) {
    std::int32_t& place = growth_of_[static_cast<std::size_t>(sequence)];
    if (place < 0) {
      place = static_cast<std::int32_t>(growths_.size());
      growths_.push_back({sequence, length, length});
    }
    return growths_[static_cast<std::size_t>(place)];
  }

  std::vector<TokenPlace> tokens_;
  std::vector<Growth> growths_;
  std::vector<std::int32_t> growth_of_;  // by sequence: its place in growths_, or -1
};

}  // namespace weft::run
