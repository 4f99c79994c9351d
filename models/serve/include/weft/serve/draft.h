#pragma once
// Drafts: guesses of the tokens that follow, which one step of the session checks together
// (speculative decoding). A guess counts only if the text's own sampler then chooses it, so that a
// text is the same with any draft, also with one that is always wrong.
//
//   GenerationOptions options{.draft = std::make_shared<LookupDraft>(3)};
//
// weft/serve/speculation.h has drafts that pay: several kinds, and costs that are measured.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft {

class TextRules;

struct DraftRequest {
  std::span<const TokenId> tokens;  // the prompt and the text so far
  std::int32_t sequence = 0;        // has all of them but the last
  std::size_t max = 0;              // how many guesses can be checked
  std::int64_t width = 1;           // tokens of the step without guesses, those of other texts too
  // The rules of the text after `tokens`, which the draft may advance; null: any token may follow.
  // Guesses that they forbid are not checked.
  TextRules* rules = nullptr;
  const std::atomic<bool>* cancel = nullptr;  // for those that compute; may be null
};

// Belongs to one text at a time; used by one thread at a time.
class Draft {
 public:
  virtual ~Draft() = default;
  // Another text begins.
  virtual void begin() = 0;
  // Reads what it lags behind, if that is more than it reads anyway: a cost that is not that of the
  // guesses. Throws like propose().
  virtual void prepare(const DraftRequest& /*request*/) {}
  // Appends up to `request.max` ids that may follow the tokens to `guesses`. In a text, tokens are
  // only added from call to call. What it throws ends the use of the draft, but for CancelledError.
  virtual void propose(const DraftRequest& request, std::vector<TokenId>& guesses) = 0;

  // A step computed the text's next token, with or without guesses: `width` tokens of all texts and
  // all guesses, in so many seconds.
  virtual void stepped(std::int64_t /*width*/, double /*seconds*/) {}
  // What became of them after that step: of the guesses that it had, if any, so many were right
  // from the first one on.
  virtual void settled(std::size_t guesses, std::size_t right) {
    n_checked += static_cast<std::int64_t>(guesses);
    n_right += static_cast<std::int64_t>(right);
  }

  // Guesses that steps checked, and those of them that were right.
  std::int64_t n_checked = 0, n_right = 0;
};

// Prompt look-up: what followed the longest of the earlier passages that end as the text does, in
// at least `size` tokens; in the text itself, or in texts that the draft saw before. A repetition
// is continued. Costs a constant time per token, and 16 bytes. Source: Saxena 2023, "Prompt Lookup
// Decoding".
class LookupDraft final : public Draft {
 public:
  explicit LookupDraft(std::size_t size);  // throws ValueError for 0
  void begin() override;
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override;

 private:
  void read(std::span<const TokenId> tokens);
  std::size_t longest_match() const;

  std::size_t size_;
  std::vector<TokenId> history_;  // all texts, the last one at its end; kNoToken between them
  std::size_t start_ = 0;         // where the last text begins
  bool is_new_ = true;            // another one has begun
  // Where the same `size` tokens ended before those that end at a position; 0: nowhere.
  std::vector<std::uint32_t> previous_;
  std::unordered_map<std::uint64_t, std::uint32_t> last_;  // by the hash of `size` tokens
};

}  // namespace weft
