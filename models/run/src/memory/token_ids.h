#pragma once
// The ids of the tokens that sequences hold. The one copy of them: whoever compares a text with a
// sequence asks Session::tokens() or common_prefix(). Sequences that only keep tokens share the ids
// that they have in common because one was copied from the other.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/backends/memory.h"

#include "memory/memory_limits.h"
#include "memory/per_sequence.h"

namespace weft::run {

class TokenIds final : public PerSequence {
 public:
  // Each sequence has at most limits.context tokens. `kept_tokens`: see bytes().
  explicit TokenIds(const MemoryLimits& limits, std::int64_t kept_tokens = 0);

  // The ids of a sequence that grows. Valid until it changes. Tokens of fill_with_noise() are -1.
  std::span<const std::int32_t> of(std::int32_t sequence) const;
  // As Session::common_prefix().
  std::int64_t common_prefix(std::int32_t sequence, std::span<const std::int32_t> ids,
                             std::int64_t from) const;
  // At most n of them, from position `from` on.
  std::vector<std::int32_t> copy_of(std::int32_t sequence, std::int64_t from, std::int64_t n) const;
  void set(std::int32_t sequence, std::span<const std::int32_t> ids);

  // Those of sequences that grow, and of `kept_tokens` tokens.
  std::int64_t bytes() const override { return ids_.size() + kept_bytes_; }
  static std::int64_t bytes_for(const MemoryLimits& limits, std::int64_t kept_tokens = 0);
  void appended(std::span<const StepToken> tokens) override;
  void truncate(std::int32_t sequence, std::int64_t length) override;
  void drop(std::int32_t sequence, const Dropping& dropping) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void restore(std::int32_t sequence, std::int64_t length,
               std::span<const std::int32_t> saved_tokens,
               std::span<const SavedState> states) override;
  void fill_with_noise(std::int32_t sequence, std::int64_t length) override;

 private:
  // The ids of a kept text: the first n_before of another one, then its own. Never changed.
  struct Text {
    std::shared_ptr<const Text> before;
    std::int64_t n_before = 0;
    std::vector<std::int32_t> own;
  };
  // The first `length` ids of a text.
  struct View {
    std::shared_ptr<const Text> text;
    std::int64_t length = 0;

    // Calls f(position, ids) for its pieces, the last one first.
    template <class F>
    void for_each_piece(F f) const;
  };

  bool grows(std::int32_t sequence) const { return sequence < n_growing_; }
  std::int32_t* begin(std::int32_t sequence) const;
  View& kept(std::int32_t s) { return kept_[static_cast<std::size_t>(s)]; }
  const View& kept(std::int32_t s) const { return kept_[static_cast<std::size_t>(s)]; }
  View keep(std::int32_t sequence, std::int64_t length);

  const std::int64_t n_tokens_, kept_bytes_;
  const std::int32_t n_growing_;
  Buffer ids_;  // [sequences that grow, n_tokens] int32
  // By sequence. Of those that grow, the beginning that a kept text has, too, and their lengths.
  std::vector<View> kept_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace weft::run
