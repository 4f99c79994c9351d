#include "weft/tokenize/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/base/error.h"

#include "string_table.h"

namespace weft {

using namespace tokenize;

namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 24;

constexpr std::pair<const char*, TokenId SpecialTokens::*> kSpecialNames[] = {
    {"bos", &SpecialTokens::bos},         {"eos", &SpecialTokens::eos},
    {"eot", &SpecialTokens::eot},         {"eom", &SpecialTokens::eom},
    {"unknown", &SpecialTokens::unk},     {"separator", &SpecialTokens::sep},
    {"padding", &SpecialTokens::pad},     {"cls", &SpecialTokens::cls},
    {"mask", &SpecialTokens::mask},       {"fim_pre", &SpecialTokens::fim_pre},
    {"fim_suf", &SpecialTokens::fim_suf}, {"fim_mid", &SpecialTokens::fim_mid},
    {"fim_pad", &SpecialTokens::fim_pad}, {"fim_rep", &SpecialTokens::fim_rep},
    {"fim_sep", &SpecialTokens::fim_sep},
};

// Texts of tokens after which a reply is over. Files often name only one of them as their eos, and
// some mark them as ordinary tokens.
constexpr std::string_view kEndOfReply[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<|eot|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<eos>",
    "[e~[",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "</s>",
    "<end_of_utterance>",
    "<|END_OF_TURN_TOKEN|>",
};

// An empty form is none.
void check_form(std::string_view name, const TextForm& form, bool pair, std::int64_t n_tokens) {
  std::int64_t n_first = 0, n_second = 0;
  for (const FormPart& part : form) {
    n_first += part.what == FormPart::What::first;
    n_second += part.what == FormPart::What::second;
    if (part.what == FormPart::What::token && (part.id < 0 || part.id >= n_tokens))
      fail<FormatError>("the form of a {} has token {} of {}", name, part.id, n_tokens);
    if (part.type < 0) fail<FormatError>("the form of a {} has a part of type {}", name, part.type);
  }
  if (form.empty() || (n_first == 1 && n_second == (pair ? 1 : 0))) return;
  fail<FormatError>("the form of a {} must have {} once, it has {} and {}", name,
                    pair ? "each of its two texts" : "its text", n_first, n_second);
}

void check_lengths(const VocabularyParts& parts) {
  const std::size_t n = parts.tokens.size();
  if (n > kMaxTokens)
    fail<FormatError>("a vocabulary of {} tokens is larger than the limit of {}", n, kMaxTokens);
  if (!parts.scores.empty() && parts.scores.size() != n) {
    fail<FormatError>("tokenizer.ggml.scores has {} entries for {} tokens", parts.scores.size(), n);
  }
  if (!parts.types.empty() && parts.types.size() != n) {
    fail<FormatError>("tokenizer.ggml.token_type has {} entries for {} tokens", parts.types.size(),
                      n);
  }
  for (std::size_t id = 0; id < parts.scores.size(); ++id) {
    if (std::isnan(parts.scores[id]))
      fail<FormatError>("the score of token {} is not a number", id);
  }
  check_form("text", parts.forms.single, /*pair=*/false, static_cast<std::int64_t>(n));
  check_form("pair", parts.forms.pair, /*pair=*/true, static_cast<std::int64_t>(n));
  if (parts.n_tokens < 0 || parts.n_tokens > std::numeric_limits<TokenId>::max()) {
    fail<FormatError>("a vocabulary cannot have {} tokens", parts.n_tokens);
  }
}

}  // namespace

struct Vocabulary::Impl {
  std::string kind;
  std::string pre;
  std::string chat_template, tool_template;
  StringTable tokens;
  StringIndex index;
  StringTable merges;
  std::string charsmap;
  std::shared_ptr<const TokenizerPipeline> pipeline;
  std::vector<float> scores;
  std::vector<TokenType> types;
  SpecialTokens special;
  TokenizerFlags flags;
  std::vector<TokenId> strip_left, strip_right, whole_words;  // sorted
  std::vector<TokenId> ends;                                  // sorted
  TextForms forms;
  std::int64_t size = 0;
  std::vector<std::string> warnings;

  explicit Impl(VocabularyParts parts);
  void drop_special_ids_outside();
  void collect_ends();
  void complete_forms();
};

Vocabulary::Impl::Impl(VocabularyParts parts)
    : kind(std::move(parts.kind)),
      pre(std::move(parts.pre)),
      chat_template(std::move(parts.chat_template)),
      tool_template(std::move(parts.tool_template)),
      charsmap(std::move(parts.charsmap)),
      pipeline(std::move(parts.pipeline)),
      scores(std::move(parts.scores)),
      types(std::move(parts.types)),
      special(parts.special),
      flags(parts.flags),
      strip_left(std::move(parts.strip_left)),
      strip_right(std::move(parts.strip_right)),
      whole_words(std::move(parts.whole_words)),
      ends(std::move(parts.more_ends)),
      forms(std::move(parts.forms)),
      warnings(std::move(parts.warnings)) {
  const auto bytes_of = [](const std::vector<std::string_view>& strings) {
    std::size_t n = 0;
    for (const std::string_view s : strings) n += s.size();
    return n;
  };
  tokens.reserve(parts.tokens.size(), bytes_of(parts.tokens));
  for (const std::string_view token : parts.tokens) tokens.add(token);
  merges.reserve(parts.merges.size(), bytes_of(parts.merges));
  for (const std::string_view merge : parts.merges) merges.add(merge);
  size = parts.tokens.empty() ? parts.n_tokens : static_cast<std::int64_t>(tokens.size());
  if (const std::size_t n = index.build(tokens); n > 0) {
    warnings.push_back(
        fmt::format("{} tokens have the text of a later token and are never produced", n));
  }
  drop_special_ids_outside();
  collect_ends();
  for (std::vector<TokenId>* ids : {&strip_left, &strip_right, &whole_words})
    std::sort(ids->begin(), ids->end());
  complete_forms();
}

void Vocabulary::Impl::drop_special_ids_outside() {
  for (const auto& [name, member] : kSpecialNames) {
    TokenId& id = special.*member;
    if (id == kNoToken || (id >= 0 && id < size)) continue;
    warnings.push_back(fmt::format(
        "tokenizer.ggml.{}_token_id {} is outside the vocabulary of {} tokens and is ignored", name,
        id, size));
    id = kNoToken;
  }
}

void Vocabulary::Impl::collect_ends() {
  for (const TokenId id : {special.eos, special.eot, special.eom}) {
    if (id != kNoToken) ends.push_back(id);
  }
  // If replies have several parts with names, "<|end|>" ends a part.
  const auto has = [&](std::string_view text) { return index.find(text) >= 0; };
  const bool parts =
      (has("<|return|>") && has("<|call|>")) || (has("<|calls|>") && has("<|flush|>"));
  for (const std::string_view text : kEndOfReply) {
    const std::int64_t found = index.find(text);
    if (found < 0) continue;
    ends.push_back(static_cast<TokenId>(found));
    if (types.empty()) types.assign(tokens.size(), TokenType::normal);
    TokenType& type = types[static_cast<std::size_t>(found)];
    if (type == TokenType::control) continue;
    warnings.push_back(fmt::format(
        "token {} '{}' is not marked as a control token and is taken as one", found, text));
    type = TokenType::control;
  }
  if (parts) std::erase(ends, static_cast<TokenId>(index.find("<|end|>")));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

void Vocabulary::Impl::complete_forms() {
  TextForms usual = default_forms(kind, flags, special);
  if (forms.single.empty()) forms.single = std::move(usual.single);
  if (forms.pair.empty() && !forms.no_pair) forms.pair = std::move(usual.pair);
}

Vocabulary::Vocabulary(VocabularyParts parts) {
  check_lengths(parts);
  impl_ = std::make_unique<const Impl>(std::move(parts));
}

Vocabulary::~Vocabulary() = default;

const std::string& Vocabulary::kind() const {
  return impl_->kind;
}
const std::string& Vocabulary::pre() const {
  return impl_->pre;
}
const std::string& Vocabulary::chat_template() const {
  return impl_->chat_template;
}
const std::string& Vocabulary::tool_template() const {
  return impl_->tool_template;
}
std::int64_t Vocabulary::size() const {
  return impl_->size;
}
bool Vocabulary::has_texts() const {
  return impl_->tokens.size() > 0;
}
std::string_view Vocabulary::text(TokenId id) const {
  return impl_->tokens[static_cast<std::size_t>(id)];
}
bool Vocabulary::has_scores() const {
  return !impl_->scores.empty();
}

float Vocabulary::score(TokenId id) const {
  return impl_->scores.empty() ? 0.0F : impl_->scores[static_cast<std::size_t>(id)];
}

TokenType Vocabulary::type(TokenId id) const {
  return impl_->types.empty() ? TokenType::normal
                              : impl_->types.data()[id];  // called for every token of a text
}

TokenId Vocabulary::find(std::string_view text) const {
  return static_cast<TokenId>(impl_->index.find(text));
}
std::int64_t Vocabulary::n_merges() const {
  return static_cast<std::int64_t>(impl_->merges.size());
}
std::string_view Vocabulary::merge(std::int64_t rank) const {
  return impl_->merges[static_cast<std::size_t>(rank)];
}
const std::string& Vocabulary::charsmap() const {
  return impl_->charsmap;
}
const TokenizerPipeline* Vocabulary::pipeline() const {
  return impl_->pipeline.get();
}
const SpecialTokens& Vocabulary::special() const {
  return impl_->special;
}
const TokenizerFlags& Vocabulary::flags() const {
  return impl_->flags;
}
bool Vocabulary::strips_left(TokenId id) const {
  return std::binary_search(impl_->strip_left.begin(), impl_->strip_left.end(), id);
}
bool Vocabulary::strips_right(TokenId id) const {
  return std::binary_search(impl_->strip_right.begin(), impl_->strip_right.end(), id);
}
bool Vocabulary::is_whole_word(TokenId id) const {
  return std::binary_search(impl_->whole_words.begin(), impl_->whole_words.end(), id);
}
const TextForms& Vocabulary::forms() const {
  return impl_->forms;
}
TokenId Vocabulary::opening() const {
  const std::vector<TokenId> ids = tokens_before(forms().single);
  return ids.empty() ? kNoToken : ids.front();
}
bool Vocabulary::ends_generation(TokenId id) const {
  return std::binary_search(impl_->ends.begin(), impl_->ends.end(), id);
}
const std::vector<std::string>& Vocabulary::warnings() const {
  return impl_->warnings;
}

}  // namespace weft
