#pragma once
// Which text may be generated and where it ends: a grammar, banned strings, and stop strings. One
// object follows one text, token by token.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/token_constraint.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

struct TextRulesOptions {
  std::shared_ptr<const Grammar> grammar = nullptr;  // null: any text
  // The tree of the model's vocabulary. Null: built when needed, which takes tens of milliseconds
  // for a large vocabulary. Programs that generate many texts should build one and share it.
  std::shared_ptr<const TokenTree> tree = nullptr;
  std::vector<std::string> stops = {};   // the text ends before the first of these
  std::vector<std::string> banned = {};  // never completed
};

// A copy continues independently from the current text of its original. They share what was
// computed from the grammar, so only one thread at a time may use an object and its copies. The
// tokenizer must outlive them.
class TextRules {
 public:
  // Empty stop strings and bans are ignored. Throws BudgetError like TokenConstraint.
  TextRules(const Tokenizer& tokenizer, const TextRulesOptions& options);

  bool any() const;        // there are rules
  bool restricts() const;  // restrict() may forbid a token

  void reset();  // starts a new text

  // Both do a part of the work of other functions, about so many steps (TokenConstraint), and
  // return whether nothing is left: reach() that of going back to this text after a copy was used,
  // prepare() also that of restrict() for the next token. Copies share the work: it only makes
  // progress if one of them is prepared until it is ready before the next one is. `may_free`: as
  // TokenConstraint::prepare_mask(); false, for copies that can be done without, also reads no text
  // again. Throw BudgetError.
  bool reach(std::uint64_t steps, bool may_free = true);
  bool prepare(std::uint64_t steps, bool may_free = true);
  bool is_prepared() const;  // prepare() has nothing left to do
  // Sets the logits of tokens that must not come next to -inf. Throws ValueError if the grammar
  // allows no token.
  void restrict(std::span<float> logits);
  // Appends the chosen token to the text. Returns true if the grammar allows nothing after it.
  // Throws ValueError for a token that the grammar does not allow.
  bool accept(TokenId id);
  // The same, but returns nothing, and changes nothing, if the grammar does not allow the token.
  std::optional<bool> accept_if_allowed(TokenId id);
  // The next tokens if the grammar allows only one continuation: none, or at least two. They can be
  // fed in one step.
  std::vector<TokenId> forced();

  // Appends `text` to `out`, except for what may become a stop string, which is held back until it
  // is known. A complete stop string sets stopped() and is not shown.
  void show(std::string_view text, std::string& out);
  void flush(std::string& out);  // appends what was held back, at the end of the text
  bool stopped() const { return stopped_; }
  const std::string& stop_string() const { return stop_string_; }  // that set stopped()
  // How many of the last texts given to show() have not been shown, not even a part: those that are
  // held back, or belong to the stop string.
  std::int64_t n_unshown() const { return std::ssize(begins_); }
  // Whether the accepted tokens contain a stop string, even if their text was not passed to show().
  bool at_stop() const;

 private:
  struct Fixed;
  struct SharedConstraint;
  void ban(std::span<float> logits) const;
  TokenConstraint& constraint();
  bool is_at_text() const;

  std::shared_ptr<const Fixed> fixed_;
  std::shared_ptr<SharedConstraint> shared_;  // null without a grammar
  std::uint64_t stamp_ = 0;        // the shared constraint is at this text if it has this stamp;
  TokenConstraint::Place place_;   // otherwise its position for this text,
  std::vector<TokenId> accepted_;  // after these tokens
  std::size_t n_replayed_ = 0;     // of them, if replay_stamp_ is that of the shared constraint
  std::uint64_t replay_stamp_ = 0;
  std::string held_back_;            // not shown yet: may become a stop string
  std::vector<std::size_t> begins_;  // in held_back_, of the texts that begin in it
  std::string tail_;                 // the last accepted bytes
  bool stopped_ = false;
  std::string stop_string_;
};

// The tokens that contain one of the texts, for example for SamplerOptions::dry_breakers.
std::vector<TokenId> tokens_with(const Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace weft
