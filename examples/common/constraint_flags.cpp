#include "common/constraint_flags.h"

#include <algorithm>
#include <limits>

#include <CLI/CLI.hpp>

#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

#include "common/read_text.h"

namespace weft::cli {
namespace {

// Bytes that are worth a look ahead; longer ones come in several steps.
constexpr std::size_t kMostForced = 512;

std::shared_ptr<const Grammar> read_grammar(const Model& model, const ConstraintFlags& flags) {
  const auto gbnf = [&](const std::string& text) {
    return Grammar::from_gbnf(text, {.find_token = [&model](std::string_view name) {
                                return model.vocabulary().find(name);
                              }});
  };
  if (!flags.grammar.empty()) return gbnf(flags.grammar);
  if (!flags.grammar_file.empty()) return gbnf(read_text(flags.grammar_file));
  if (!flags.json_schema.empty()) return Grammar::from_json_schema(flags.json_schema);
  if (!flags.json_schema_file.empty())
    return Grammar::from_json_schema(read_text(flags.json_schema_file));
  return Grammar::from_regex(flags.regex);
}

// How many bytes at the end of `text` begin `word`, all of it left out.
std::size_t overlap(std::string_view text, std::string_view word) {
  for (std::size_t n = std::min(text.size(), word.size() - 1); n > 0; --n)
    if (text.substr(text.size() - n) == word.substr(0, n)) return n;
  return 0;
}

}  // namespace

void add_constraint_flags(CLI::App& app, ConstraintFlags& flags) {
  auto* group = app.add_option_group("what may be written", "at most one of");
  group->add_option("--grammar", flags.grammar, "a grammar in GBNF")->type_name("TEXT");
  group->add_option("--grammar-file", flags.grammar_file, "the same, in a file")->type_name("FILE");
  group->add_option("-j,--json-schema", flags.json_schema, "JSON that this JSON Schema allows")
      ->type_name("TEXT");
  group->add_option("--json-schema-file", flags.json_schema_file, "the same, in a file")
      ->type_name("FILE");
  group->add_option("--regex", flags.regex, "text that matches this pattern as a whole")
      ->type_name("TEXT");
  group->require_option(0, 1);
  using Policy = CLI::MultiOptionPolicy;
  app.add_option("-r,--stop,--reverse-prompt", flags.stops,
                 "end the text before this string; may be given several times")
      ->multi_option_policy(Policy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_option("--ban", flags.banned, "never write this string; may be given several times")
      ->multi_option_policy(Policy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("TEXT");
}

std::vector<TokenId> tokens_with(const Model& model, const std::vector<std::string>& texts) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < model.vocabulary().size(); ++id) {
    const std::string_view bytes = model.tokenizer().bytes(id);
    if (std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
          return !text.empty() && bytes.find(text) != bytes.npos;
        }))
      ids.push_back(id);
  }
  return ids;
}

TextRules::TextRules(const Model& model, const ConstraintFlags& flags)
    : model_(model), stops_(flags.stops), banned_(flags.banned) {
  std::erase(stops_, "");
  std::erase(banned_, "");
  for (const auto* texts : {&stops_, &banned_})
    for (const std::string& text : *texts) n_tail_ = std::max(n_tail_, text.size());
  if (!flags.any_grammar() && banned_.empty()) return;
  tree_ = std::make_shared<const TokenTree>(model.tokenizer());
  if (flags.any_grammar()) constraint_.emplace(read_grammar(model, flags), tree_);
  for (const std::string& text : banned_) containing_.push_back(tokens_with(model, {text}));
}

void TextRules::reset() {
  if (constraint_) constraint_->reset();
  kept_.clear();
  tail_.clear();
  stopped_ = false;
}

std::span<const float> TextRules::allowed(std::span<const float> logits) {
  if (!constraint_ && banned_.empty()) return logits;
  logits_.assign(logits.begin(), logits.end());
  ban(logits_);
  if (constraint_) constraint_->apply(logits_);
  return logits_;
}

// A banned string can be completed by the next token from every beginning of it that the text ends
// with.
void TextRules::ban(std::span<float> logits) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (std::size_t b = 0; b < banned_.size(); ++b) {
    const std::string_view text = banned_[b];
    for (const TokenId id : containing_[b]) logits[static_cast<std::size_t>(id)] = kNever;
    for (std::size_t n = std::min(text.size() - 1, tail_.size()); n > 0; --n) {
      if (!std::string_view(tail_).ends_with(text.substr(0, n))) continue;
      const std::string_view left = text.substr(n);
      for (std::size_t node = 0; node < tree_->n_nodes();) {
        const std::size_t depth = tree_->depth(node);
        if (depth <= left.size() &&
            tree_->byte(node) != static_cast<std::uint8_t>(left[depth - 1])) {
          node = tree_->behind(node);
          continue;
        }
        if (depth >= left.size())
          for (const TokenId id : tree_->tokens(node))
            logits[static_cast<std::size_t>(id)] = kNever;
        ++node;
      }
    }
  }
}

bool TextRules::accept(TokenId id) {
  if (constraint_ && !constraint_->accept(id))
    fail<ValueError>("token {} is not what the grammar demands", id);
  if (n_tail_ > 0 && !model_.tokenizer().hidden(id)) {
    if (tail_.size() > n_tail_) tail_.erase(0, tail_.size() - n_tail_);
    tail_ += model_.tokenizer().bytes(id);
  }
  return constraint_ && constraint_->complete() && !constraint_->goes_on();
}

TextRules::Place TextRules::place() const {
  return {constraint_ ? constraint_->place() : TokenConstraint::Place{}, tail_};
}

void TextRules::go_to(const Place& place, std::span<const TokenId> text) {
  if (constraint_ && !constraint_->go_to(place.grammar)) {
    constraint_->reset();
    for (const TokenId id : text) accept(id);
  }
  tail_ = place.tail;
}

bool TextRules::at_stop() const {
  return std::ranges::any_of(
      stops_, [this](const std::string& stop) { return tail_.find(stop) != tail_.npos; });
}

// The last token of a forced text could also be the beginning of a longer one: it is left to be
// chosen.
std::vector<TokenId> TextRules::forced() {
  if (!constraint_ || !banned_.empty()) return {};
  const std::string text = constraint_->forced(kMostForced);
  if (text.size() < 2) return {};
  std::vector<TokenId> ids =
      model_.tokenizer().encode(text, {.add_special = false, .parse_special = false});
  // Kinds that put a space before a text are no use here.
  if (model_.tokenizer().decode(ids) != text) return {};
  ids.pop_back();
  if (ids.size() < 2) ids.clear();
  return ids;
}

std::string TextRules::show(std::string_view text) {
  if (stopped_) return "";
  kept_ += text;
  std::size_t end = kept_.size();
  std::size_t hold = 0;
  for (const std::string& stop : stops_) {
    const std::size_t found = kept_.find(stop);
    if (found < end) {
      end = found;
      stopped_ = true;
    }
    hold = std::max(hold, overlap(kept_, stop));
  }
  const std::size_t shown = stopped_ ? end : kept_.size() - hold;
  std::string out = kept_.substr(0, shown);
  kept_.erase(0, shown);
  return out;
}

std::string TextRules::rest() {
  return stopped_ ? "" : std::exchange(kept_, "");
}

}  // namespace weft::cli
