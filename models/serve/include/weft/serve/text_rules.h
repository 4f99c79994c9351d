#pragma once
// Which text may be written and where it ends: a grammar, strings that must not come, strings that
// end the text. One object follows one text, token by token.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/token_constraint.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

struct TextRulesOptions {
  std::shared_ptr<const Grammar> grammar = nullptr;  // null: any text
  // Of the model's vocabulary. Null: made when it is needed, which takes tens of milliseconds for a
  // large vocabulary; programs that write many texts make one and share it.
  std::shared_ptr<const TokenTree> tree = nullptr;
  std::vector<std::string> stops = {};   // the text ends before the first of these
  std::vector<std::string> banned = {};  // never completed
};

// A copy follows the text of its original from there on by itself, and shares with it what was
// computed of the grammar: copies belong to one thread at a time, all together. The tokenizer must
// outlive them.
class TextRules {
 public:
  // Empty stop strings and bans are ignored. Throws BudgetError like TokenConstraint.
  TextRules(const Tokenizer& tokenizer, const TextRulesOptions& options);

  bool any() const;        // there are rules
  bool restricts() const;  // restrict() may forbid a token

  void reset();  // a new text

  // Sets the logits of tokens that must not come next to -inf. Throws ValueError if the grammar
  // leaves no token.
  void restrict(std::span<float> logits);
  // Takes the chosen token. True if the text is complete by the grammar and cannot go on. Throws
  // ValueError for a token that the grammar does not allow.
  bool accept(TokenId id);
  // The tokens that the grammar leaves no choice about: none, or at least two. They can be fed in
  // one step.
  std::vector<TokenId> forced();

  // Takes text that a token completed and appends to `out` what can be shown: what may become a
  // stop string is held back, a complete one sets stopped() and is not shown.
  void show(std::string_view text, std::string& out);
  void rest(std::string& out);  // what was held back, at the end of the text
  bool stopped() const { return stopped_; }
  // The accepted tokens contain a stop string, whether or not their text went through show().
  bool at_stop() const;

 private:
  struct Fixed;
  struct SharedConstraint;
  void ban(std::span<float> logits) const;
  TokenConstraint& constraint();

  std::shared_ptr<const Fixed> fixed_;
  std::shared_ptr<SharedConstraint> shared_;  // null without a grammar
  std::uint64_t stamp_ = 0;        // the shared constraint is at this text if it has this stamp
  TokenConstraint::Place place_;   // otherwise it was here,
  std::vector<TokenId> accepted_;  // behind these tokens
  std::string held_back_;          // not shown yet: may become a stop string
  std::string tail_;               // the last bytes that were accepted
  bool stopped_ = false;
};

// Tokens that contain one of the texts, for example as breakers of repetitions.
std::vector<TokenId> tokens_with(const Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace weft
