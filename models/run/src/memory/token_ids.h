#pragma once
// The ids of the tokens that sequences hold. The one copy of them: whoever compares a text with a
// sequence asks Session::tokens() or common_prefix().

#include <cstdint>
#include <span>
#include <vector>

#include "weft/backends/memory.h"

#include "memory/per_sequence.h"

namespace weft::run {

class TokenIds final : public PerSequence {
 public:
  // Each sequence has at most `n_tokens` tokens.
  TokenIds(std::int64_t n_sequences, std::int64_t n_tokens);
  static std::int64_t bytes_for(std::int64_t n_sequences, std::int64_t n_tokens);

  // Valid until the sequence changes. Tokens of fill_with_noise() are -1.
  std::span<const std::int32_t> of(std::int32_t sequence) const;
  void set(std::int32_t sequence, std::span<const std::int32_t> ids);

  std::int64_t bytes() const override { return ids_.size(); }
  void appended(std::span<const StepToken> tokens) override;
  void truncate(std::int32_t sequence, std::int64_t length) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void restore(std::int32_t sequence, std::int64_t length,
               std::span<const std::int32_t> saved_tokens,
               std::span<const SavedState> states) override;
  void fill_with_noise(std::int32_t sequence, std::int64_t length) override;

 private:
  std::int32_t* begin(std::int32_t sequence) const;
  std::int64_t& length(std::int32_t s) { return lengths_[static_cast<std::size_t>(s)]; }
  std::int64_t length(std::int32_t s) const { return lengths_[static_cast<std::size_t>(s)]; }

  const std::int64_t n_tokens_;
  Buffer ids_;                         // [n_sequences, n_tokens] int32
  std::vector<std::int64_t> lengths_;  // by sequence
};

}  // namespace weft::run
