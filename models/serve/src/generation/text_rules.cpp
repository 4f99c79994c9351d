#include "weft/serve/text_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"
#include "weft/tokenize/logits.h"

namespace weft {
namespace {

// The length of forced text that is fed in one step; longer texts take several steps.
constexpr std::size_t kMaxForcedBytes = 512;

// Calls f(i, id) for every text i that the bytes of a token contain: tokens in order, and one again
// for each place. Takes time for the vocabulary, hardly for the number of texts.
template <class F>
void for_each_within(const Tokenizer& tokenizer, const std::vector<std::string>& texts, F f) {
  ForeignMap<std::string_view, std::vector<std::size_t>> by_text;
  std::set<std::size_t> lengths;
  std::array<bool, 256> begins{};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    by_text[texts[i]].push_back(i);
    lengths.insert(texts[i].size());
    begins[static_cast<unsigned char>(texts[i].front())] = true;
  }
  for (TokenId id = 0; id < tokenizer.vocabulary().size(); ++id) {
    for (std::string_view rest = tokenizer.bytes(id); !rest.empty(); rest.remove_prefix(1)) {
      if (!begins[static_cast<unsigned char>(rest.front())]) continue;
      for (const std::size_t length : lengths) {
        if (length > rest.size()) break;
        if (const auto at = by_text.find(rest.substr(0, length)); at != by_text.end())
          for (const std::size_t i : at->second) f(i, id);
      }
    }
  }
}

std::vector<std::vector<TokenId>> tokens_with_each(const Tokenizer& tokenizer,
                                                   const std::vector<std::string>& texts) {
  std::vector<std::vector<TokenId>> with(texts.size());
  for_each_within(tokenizer, texts, [&](std::size_t i, TokenId id) {
    if (with[i].empty() || with[i].back() != id) with[i].push_back(id);
  });
  return with;
}

// The length of the longest proper prefix of `word` that `text` ends with.
std::size_t overlap(std::string_view text, std::string_view word) {
  for (std::size_t n = std::min(text.size(), word.size() - 1); n > 0; --n)
    if (text.substr(text.size() - n) == word.substr(0, n)) return n;
  return 0;
}

}  // namespace

struct TextRules::Fixed {
  const Tokenizer& tokenizer;
  std::vector<std::string> stops, banned;
  std::shared_ptr<const TokenTree> tree;         // null if nothing needs it
  std::vector<std::vector<TokenId>> containing;  // by banned string: the tokens that contain it
  std::size_t longest = 0;                       // bytes of the longest of both
};

// All copies of the rules share one constraint, which is at the text of one of them at a time.
struct TextRules::SharedConstraint {
  TokenConstraint constraint;
  std::uint64_t stamp = 0;
};

TextRules::TextRules(const Tokenizer& tokenizer, const TextRulesOptions& options) {
  const auto fixed =
      std::make_shared<Fixed>(Fixed{tokenizer, options.stops, options.banned, options.tree, {}, 0});
  std::erase(fixed->stops, "");
  std::erase(fixed->banned, "");
  for (const auto* texts : {&fixed->stops, &fixed->banned})
    for (const std::string& text : *texts) fixed->longest = std::max(fixed->longest, text.size());
  if (!fixed->tree && (options.grammar || !fixed->banned.empty()))
    fixed->tree = std::make_shared<const TokenTree>(tokenizer);
  if (!fixed->banned.empty()) fixed->containing = tokens_with_each(tokenizer, fixed->banned);
  fixed_ = fixed;
  if (options.grammar)
    shared_ = std::make_shared<SharedConstraint>(
        SharedConstraint{TokenConstraint(options.grammar, fixed_->tree)});
  reset();
}

bool TextRules::any() const {
  return restricts() || !fixed_->stops.empty();
}

bool TextRules::restricts() const {
  return shared_ || !fixed_->banned.empty();
}

void TextRules::reset() {
  if (shared_) {
    shared_->constraint.reset();
    stamp_ = ++shared_->stamp;
    place_ = shared_->constraint.place();
  }
  accepted_.clear();
  held_back_.clear();
  begins_.clear();
  tail_.clear();
  stopped_ = false;
  stop_string_.clear();
}

// REQUIRES: a grammar.
bool TextRules::is_at_text() const {
  return shared_->stamp == stamp_;
}

bool TextRules::reach(std::uint64_t steps, bool may_free) {
  if (!shared_ || is_at_text()) return true;
  TokenConstraint& constraint = shared_->constraint;
  if (shared_->stamp != replay_stamp_) {
    if (constraint.return_to(place_)) {
      stamp_ = ++shared_->stamp;
      return true;
    }
    if (!may_free) return false;
    constraint.reset();  // it has freed memory since
    n_replayed_ = 0;
    replay_stamp_ = ++shared_->stamp;
  }
  const std::uint64_t begin = constraint.steps();
  for (; n_replayed_ < accepted_.size(); ++n_replayed_) {
    if (constraint.steps() - begin > steps) return false;
    constraint.accept_again(accepted_[n_replayed_]);
  }
  stamp_ = ++shared_->stamp;
  place_ = constraint.place();
  return true;
}

// At this text. REQUIRES: a grammar.
TokenConstraint& TextRules::constraint() {
  reach(~std::uint64_t{0});
  return shared_->constraint;
}

bool TextRules::prepare(std::uint64_t steps, bool may_free) {
  if (!shared_) return true;
  if (!reach(steps, may_free) || !shared_->constraint.prepare_mask(steps, may_free)) return false;
  place_ = shared_->constraint.place();  // it may have freed memory
  return true;
}

bool TextRules::is_prepared() const {
  return !shared_ || shared_->constraint.has_mask(place_);
}

void TextRules::restrict(std::span<float> logits) {
  ban(logits);
  if (shared_) constraint().apply(logits);
}

// The next token can complete a banned string if the text ends with a prefix of it.
void TextRules::ban(std::span<float> logits) const {
  const TokenTree* tree = fixed_->tree.get();
  for (std::size_t b = 0; b < fixed_->banned.size(); ++b) {
    const std::string_view text = fixed_->banned[b];
    forbid(fixed_->containing[b], logits);
    // What is left after a shorter prefix is longer than any token.
    const std::size_t least =
        text.size() > tree->max_depth() ? text.size() - tree->max_depth() : std::size_t{1};
    for (std::size_t n = std::min(text.size() - 1, tail_.size()); n >= least; --n) {
      if (!std::string_view(tail_).ends_with(text.substr(0, n))) continue;
      const std::string_view left = text.substr(n);
      for (std::size_t node = 0; node < tree->n_nodes();) {
        const std::size_t depth = tree->depth(node);
        if (depth <= left.size() &&
            tree->byte(node) != static_cast<std::uint8_t>(left[depth - 1])) {
          node = tree->subtree_end(node);
          continue;
        }
        if (depth >= left.size()) forbid(tree->tokens(node), logits);
        ++node;
      }
    }
  }
}

bool TextRules::accept(TokenId id) {
  const std::optional<bool> over = accept_if_allowed(id);
  if (!over) fail<ValueError>("the grammar does not allow token {} here", id);
  return *over;
}

std::optional<bool> TextRules::accept_if_allowed(TokenId id) {
  bool over = false;
  if (shared_) {
    TokenConstraint& c = constraint();
    if (!c.accept(id)) return std::nullopt;
    stamp_ = ++shared_->stamp;
    place_ = c.place();
    accepted_.push_back(id);
    over = c.may_end() && !c.may_continue();
  }
  const Tokenizer& tokenizer = fixed_->tokenizer;
  if (fixed_->longest > 0 && !tokenizer.hidden(id)) {
    if (tail_.size() > fixed_->longest) tail_.erase(0, tail_.size() - fixed_->longest);
    tail_ += tokenizer.bytes(id);
  }
  return over;
}

bool TextRules::at_stop() const {
  return std::ranges::any_of(
      fixed_->stops, [this](const std::string& stop) { return tail_.find(stop) != tail_.npos; });
}

// The last token of a forced text could also be a longer token that begins with it, so it is not
// forced.
std::vector<TokenId> TextRules::forced() {
  if (!shared_ || !fixed_->banned.empty()) return {};
  const std::string text = constraint().forced(kMaxForcedBytes);
  if (text.size() < 2) return {};
  const Tokenizer& tokenizer = fixed_->tokenizer;
  std::vector<TokenId> ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  // Fails for kinds that put a space before a text.
  if (tokenizer.decode(ids) != text) return {};
  ids.pop_back();
  if (ids.size() < 2) ids.clear();
  return ids;
}

void TextRules::show(std::string_view text, std::string& out) {
  if (stopped_) return;
  if (fixed_->stops.empty()) {
    out += text;
    return;
  }
  begins_.push_back(held_back_.size());
  held_back_ += text;
  std::size_t end = held_back_.size();
  std::size_t hold = 0;
  for (const std::string& stop : fixed_->stops) {
    const std::size_t found = held_back_.find(stop);
    if (found < end) {
      end = found;
      stopped_ = true;
      stop_string_ = stop;
    }
    hold = std::max(hold, overlap(held_back_, stop));
  }
  const std::size_t shown = stopped_ ? end : held_back_.size() - hold;
  out.append(held_back_, 0, shown);
  held_back_.erase(0, shown);
  std::erase_if(begins_, [&](std::size_t begin) { return begin < shown || held_back_.empty(); });
  for (std::size_t& begin : begins_) begin -= shown;
}

void TextRules::flush(std::string& out) {
  if (!stopped_) {
    out += held_back_;
    begins_.clear();
  }
  held_back_.clear();
}

std::vector<TokenId> tokens_with(const Tokenizer& tokenizer,
                                 const std::vector<std::string>& texts) {
  std::vector<TokenId> ids;
  for_each_within(tokenizer, texts, [&](std::size_t, TokenId id) {
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  });
  return ids;
}

}  // namespace weft
