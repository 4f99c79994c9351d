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
#include <memory>
#include <span>
#include <vector>

#include "weft/base/clock.h"
#include "weft/tokenize/text_form.h"

namespace weft {

class TextRules;
namespace serve {
class KeptTexts;
class Passages;
}  // namespace serve

struct DraftRequest {
  std::span<const TokenId> tokens;  // the prompt and the text so far
  std::int32_t sequence = 0;        // has all of them but the last
  std::size_t max = 0;              // how many guesses can be checked
  // The step that will check them so far: texts that get their next token from it, this one too,
  // and guesses of others. It may also read prompts, which take the same time in any step.
  std::int64_t n_texts = 1, n_guesses = 0;
  // The rules of the text after `tokens`, which the draft may advance; null: any token may follow.
  // Guesses that they forbid are not checked.
  TextRules* rules = nullptr;
  // Whose text it is. A draft uses nothing that it keeps of other owners' texts.
  std::string_view owner = {};
  const std::atomic<bool>* cancel = nullptr;  // for those that compute; may be null
};

// A step that was computed.
struct DraftStep {
  Clock::time_point began;  // texts whose next token it gave all have the same
  double seconds = 0;
  std::int64_t n_texts = 1, n_guesses = 0;
  bool reads_prompts = false;
};

// Belongs to one text at a time; used by one thread at a time.
class Draft {
 public:
  virtual ~Draft() = default;
  // Another text begins.
  virtual void begin() = 0;
  // Reads some of what it lags behind, if that is more than it reads anyway: a cost that is not
  // that of the guesses. Returns false if more is left: then it has no guesses yet. Throws like
  // propose().
  virtual bool prepare(const DraftRequest& /*request*/) { return true; }
  // Appends up to `request.max` ids that may follow the tokens to `guesses`. In a text, tokens are
  // only added from call to call. What it throws ends the use of the draft, but for CancelledError.
  virtual void propose(const DraftRequest& request, std::vector<TokenId>& guesses) = 0;

  // A step computed the text's next token, with or without guesses.
  virtual void stepped(const DraftStep& /*step*/) {}
  // What became of them after that step: of the guesses that it had, if any, so many were right
  // from the first one on.
  virtual void settled(std::size_t guesses, std::size_t right) {
    n_checked += static_cast<std::int64_t>(guesses);
    n_right += static_cast<std::int64_t>(right);
  }

  // The text ended, with these tokens.
  virtual void ended(std::span<const TokenId> /*tokens*/) {}

  // Guesses that steps checked, and those of them that were right.
  std::int64_t n_checked = 0, n_right = 0;
};

// Prompt look-up: what followed the longest of the earlier passages that end as the text does, in
// at least `size` tokens; in the text itself, or in texts that ended before. A repetition is
// continued. Costs a constant time per token, and about 50 bytes. Ended texts are forgotten, all at
// once, where they would have more than 65536 tokens. Source: Saxena 2023, "Prompt Lookup
// Decoding".
class LookupDraft final : public Draft {
 public:
  // Drafts may share ended texts, of the same `size`; null: it has its own. Throws ValueError for a
  // size of 0.
  explicit LookupDraft(std::size_t size, std::shared_ptr<serve::KeptTexts> kept = nullptr);
  ~LookupDraft() override;
  void begin() override;
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override;
  void ended(std::span<const TokenId> tokens) override;

 private:
  std::unique_ptr<serve::Passages> text_;
  std::shared_ptr<serve::KeptTexts> kept_;
};

}  // namespace weft
