#pragma once
// Drafts: guesses of the tokens that follow, which one step of the session checks together
// (speculative decoding). A guess counts only if the text's own sampler then chooses it, so that a
// text is the same with any draft, also with one that is always wrong.
//
//   GenerationOptions options{.draft = std::make_shared<LookupDraft>(3)};

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft {

// One text at a time; not for several threads at once.
class Draft {
 public:
  virtual ~Draft() = default;
  // Another text begins.
  virtual void begin() = 0;
  // Appends up to `max` ids that may follow `tokens`, the prompt and the text so far, to `guesses`.
  // In a text, tokens are only added from call to call. What it throws ends the use of the draft.
  virtual void propose(std::span<const TokenId> tokens, std::size_t max,
                       std::vector<TokenId>& guesses) = 0;

  // Guesses that steps checked, and those of them that were right. Counted by Generation.
  std::int64_t n_checked = 0, n_right = 0;
};

// Prompt look-up: what followed when the last `size` tokens occurred the last time; a repetition is
// continued. Costs O(size) per token of the text. Source: Saxena 2023, "Prompt Lookup Decoding".
class LookupDraft final : public Draft {
 public:
  explicit LookupDraft(std::size_t size);  // throws ValueError for 0
  void begin() override;
  void propose(std::span<const TokenId> tokens, std::size_t max,
               std::vector<TokenId>& guesses) override;

 private:
  std::size_t size_;
  std::size_t n_indexed_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> followers_;  // by the hash of `size` tokens
};

}  // namespace weft
