#pragma once
// The guesses of a draft that the sequence of a text holds, behind the tokens that were chosen.

#include <cstdint>
#include <span>
#include <vector>

#include "weft/serve/generation.h"

namespace weft::serve {

class Guesses {
 public:
  Guesses() = default;
  Guesses(const Guesses&) = delete;
  Guesses& operator=(const Guesses&) = delete;
  ~Guesses();  // the sequence loses them

  // Feeds the pending token of a text with guesses behind it. False: there are none, or they cannot
  // be used.
  bool feed(Generation::Impl& text);
  // The logits from which the next token is to be chosen; empty if there are no guesses.
  std::span<const float> row() const;
  // A token was chosen from row(), and is the last one of the text: the next row is ready if it was
  // guessed, otherwise the sequence loses the guesses.
  void settle(Generation::Impl& text, TokenId token);
  // The sequence loses the guesses. If it cannot be cut there, it loses some of the text, too,
  // which is fed again, and there are no further guesses.
  void drop(Generation::Impl& text);
  // Something else has replaced the sequence.
  void forget() { ids_.clear(); }

 private:
  std::int64_t cut();  // returns the length that the sequence has then

  std::vector<TokenId> ids_;
  std::vector<float> rows_;    // row i follows guess i - 1
  std::size_t n_right_ = 0;    // guesses that were chosen
  std::int64_t n_chosen_ = 0;  // tokens of the sequence that were chosen
  Session* session_ = nullptr;
  std::int32_t sequence_ = 0;
};

}  // namespace weft::serve
