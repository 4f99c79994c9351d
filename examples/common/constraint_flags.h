#pragma once
// Flags about which text may be written and where it ends, and what makes them work while tokens
// come.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/grammar/token_constraint.h"
#include "weft/run/model.h"
#include "weft/sample/sampler.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct ConstraintFlags {
  std::string grammar, grammar_file, json_schema, json_schema_file, regex;
  std::vector<std::string> stops, banned;
  bool any_grammar() const {
    return !(grammar + grammar_file + json_schema + json_schema_file + regex).empty();
  }
};
void add_constraint_flags(CLI::App& app, ConstraintFlags& flags);

// What holds for the text of one conversation.
class TextRules {
 public:
  // Throws like Grammar.
  TextRules(const Model& model, const ConstraintFlags& flags);

  void reset();  // a new text
  // The logits with those of tokens that may not come at -inf; the same ones where all may.
  std::span<const float> allowed(std::span<const float> logits);
  // A token that was chosen, and its text as far as it is shown. True where the text ends here.
  bool accept(TokenId id);
  // Tokens that must come next, at least two of them where there are any: they can be fed at once.
  std::vector<TokenId> forced();
  // Takes text that a token completed; gives what may be shown, and keeps back what could become a
  // stop string. Sets stopped() when one is complete: it is not shown.
  std::string show(std::string_view text);
  std::string rest();  // what was kept back, at the end of the text

  // For those who write several texts at once: where one is, and back to it. `text` are its tokens,
  // for where memory of the grammar was given back since.
  struct Place {
    TokenConstraint::Place grammar;
    std::string tail;
  };
  Place place() const;
  void go_to(const Place& place, std::span<const TokenId> text);
  bool any() const { return constraint_ || !banned_.empty() || !stops_.empty(); }
  bool at_stop() const;  // the text as accept() knows it has come to a stop string
  bool stopped() const { return stopped_; }

 private:
  void ban(std::span<float> logits) const;

  const Model& model_;
  std::vector<std::string> stops_, banned_;
  std::shared_ptr<const TokenTree> tree_;
  std::optional<TokenConstraint> constraint_;
  std::vector<std::vector<TokenId>> containing_;  // tokens with a banned string in them
  std::vector<float> logits_;
  std::string kept_;
  std::string tail_;        // the end of the accepted text: the last token, and before it
  std::size_t n_tail_ = 0;  // as many bytes as the longest banned or stop string has
  bool stopped_ = false;
};

// Tokens that have one of the texts in them: breakers of repetitions.
std::vector<TokenId> tokens_with(const Model& model, const std::vector<std::string>& texts);

}  // namespace weft::cli
