#pragma once
// The text of a sequence that grows turn by turn, as far as it is known, with the places where its
// prompts and answers end: plan_turn() keeps the tokens up to the last one that a prompt has, too.
//
// Threads: one at a time.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "weft/chat/chat_turn.h"
#include "weft/run/token_range.h"

namespace weft {

class HeldText {
 public:
  // The sequence is about to have this text, and to lose what differs in what it had.
  void begin(std::string text);
  // It has all of the text, with its first n_tokens.
  void end(std::size_t n_tokens);
  // The sequence keeps only the tokens of these ranges, which move up. What of the text they were
  // is still what it is taken for.
  void drop(std::span<const TokenRange> kept);
  void clear();

  // What is known of a sequence with these tokens, which may be fewer than at the last end. Valid
  // until the next call.
  ComputedText of(std::span<const TokenId> tokens);
  // The text of the last begin().
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<ComputedText::End> ends_;
};

}  // namespace weft
