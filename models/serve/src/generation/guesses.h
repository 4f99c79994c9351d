#pragma once
// The guesses of a draft that the sequence of a text holds, behind the tokens that were chosen.

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "weft/serve/generation.h"

namespace weft::serve {

class Guesses {
 public:
  Guesses() = default;
  Guesses(const Guesses&) = delete;
  Guesses& operator=(const Guesses&) = delete;
  ~Guesses();  // the sequence loses them, unless something else changed it

  // Asks the draft what may follow, if the text's next step feeds its last token alone. The step
  // has so many texts, guesses of others, and `room` for guesses. Returns those that the step is to
  // have behind that token, each with a row of logits.
  std::span<const TokenId> propose(Generation::Impl& text, std::int64_t n_texts,
                                   std::int64_t n_guesses, std::int64_t room);
  // The step was computed: `rows` [1 + guesses, V] follow the token and each guess, if there were
  // any.
  void stepped(Generation::Impl& text, std::span<const float> rows, const DraftStep& step);
  // The step failed, or the sequence has been replaced.
  void forget() { ids_.clear(), rows_.clear(), was_asked_ = false; }

  // Whether propose() was cancelled, by the flag or a poll.
  bool was_cancelled() const { return was_cancelled_; }
  // The logits from which the next token is to be chosen; empty if there are no guesses.
  std::span<const float> row() const;
  // A token was chosen from row(), and is the last one of the text: the next row is ready if it was
  // guessed, otherwise the sequence loses the guesses.
  void settle(Generation::Impl& text, TokenId token);
  // The sequence loses the guesses. If it cannot be cut there, it loses some of the text, too,
  // which is fed again, and there are no further guesses.
  void drop(Generation::Impl& text);
  // The text ends: it loses all tokens that were not delivered, and its draft is told.
  void end(Generation::Impl& text);
  // drop() in the middle of a text, which keeps the logits of its next token.
  void set_aside(Generation::Impl& text);
  // Those that the sequence holds.
  std::int64_t count() const {
    return rows_.empty() ? 0 : std::ssize(ids_) - static_cast<std::int64_t>(n_right_);
  }

 private:
  // Returns how many tokens of the text the sequence has then.
  std::int64_t cut();

  std::vector<TokenId> ids_;
  std::vector<float> rows_;  // row i follows guess i - 1; empty before the step
  bool was_cancelled_ = false;
  bool was_asked_ = false;     // the draft, for the next step
  std::size_t n_right_ = 0;    // guesses that were chosen
  std::int64_t n_chosen_ = 0;  // tokens of the sequence that were chosen
  Session* session_ = nullptr;
  std::int32_t sequence_ = 0;
};

}  // namespace weft::serve
