#include "pipeline/splitter.h"

#include <algorithm>
#include <string>
#include <variant>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/byte_map.h"
#include "weft/tokenize/space_symbol.h"

#include "pipeline/text_patterns.h"
#include "unicode/unicode_class.h"

namespace weft::tokenize {
namespace {

using split::Behavior;

bool is_space(char32_t c) {
  return (classify(c) & char_class::kSpace) != 0;
}
bool is_number(char32_t c) {
  return (classify(c) & char_class::kNumber) != 0;
}
bool is_punctuation(char32_t c) {
  const bool ascii_symbol = c > 0x20 && c < 0x7F && (classify(c) & char_class::kSymbol) != 0;
  return ascii_symbol || (classify(c) & char_class::kPunctuation) != 0;
}

struct Span {
  std::size_t begin, end;
  bool match;
  bool operator==(const Span&) const = default;
};
using Spans = std::vector<Span>;

// Collects matches and the texts between them: together they are the text.
class SpanList {
 public:
  void match(std::size_t begin, std::size_t end) {
    gap(begin);
    spans_.push_back({begin, end, true});
    done_ = end;
  }
  Spans finish(std::size_t size) {
    gap(size);
    return std::move(spans_);
  }

 private:
  void gap(std::size_t end) {
    if (end > done_) spans_.push_back({done_, end, false});
  }

  Spans spans_;
  std::size_t done_ = 0;
};

// Every such character is a match of its own.
template <class Accept>
Spans match_chars(std::string_view text, Accept accept) {
  SpanList list;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid && accept(c.code)) list.match(at, at + c.length);
    at += c.length;
  }
  return list.finish(text.size());
}

Spans match_pattern(std::string_view text, const TextPattern& pattern) {
  SpanList list;
  PatternFinder(pattern).for_each_match(
      text, [&](std::size_t begin, std::size_t end) { list.match(begin, end); });
  return list.finish(text.size());
}

// Runs of word characters, and runs of others that are not white space.
Spans match_words(std::string_view text) {
  enum class Sort { none, word, other };
  const auto sort_at = [&](std::size_t at) {
    const Utf8Char c = decode_utf8(text, at);
    if (is_space(c.code)) return Sort::none;
    return is_word_char(c.code) ? Sort::word : Sort::other;
  };
  SpanList list;
  for (std::size_t at = 0; at < text.size();) {
    const Sort sort = sort_at(at);
    const std::size_t begin = at;
    while (at < text.size() && sort_at(at) == sort) at += decode_utf8(text, at).length;
    if (sort != Sort::none) list.match(begin, at);
  }
  return list.finish(text.size());
}

// A match joins the piece before it, unless that ends with a match, too.
Spans merge_with_previous(const Spans& spans) {
  Spans pieces;
  bool after_match = false;
  for (const Span& span : spans) {
    if (span.match && !after_match && !pieces.empty()) {
      pieces.back().end = span.end;
    } else {
      pieces.push_back({span.begin, span.end, false});
    }
    after_match = span.match;
  }
  return pieces;
}

// The mirror image.
Spans merge_with_next(const Spans& spans) {
  Spans pieces;
  bool before_match = false;
  for (std::size_t i = spans.size(); i-- > 0;) {
    const Span& span = spans[i];
    if (span.match && !before_match && !pieces.empty()) {
      pieces.back().begin = span.begin;
    } else {
      pieces.push_back({span.begin, span.end, false});
    }
    before_match = span.match;
  }
  std::ranges::reverse(pieces);
  return pieces;
}

Spans merge_equal(const Spans& spans) {
  Spans pieces;
  for (const Span& span : spans) {
    if (!pieces.empty() && pieces.back().match == span.match) {
      pieces.back().end = span.end;
    } else {
      pieces.push_back(span);
    }
  }
  return pieces;
}

Spans pieces_of(Spans spans, Behavior behavior) {
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(spans, [](const Span& span) { return span.match; });
      return spans;
    case Behavior::merged_with_previous:
      return merge_with_previous(spans);
    case Behavior::merged_with_next:
      return merge_with_next(spans);
    case Behavior::contiguous:
      return merge_equal(spans);
    default:
      return spans;
  }
}

// Pieces of a rule as spans of the text that is being split.
class RuleSpans final : public PieceSink {
 public:
  void piece(std::string_view text) override {
    spans_.push_back({at_, at_ + text.size(), true});
    at_ += text.size();
  }
  Spans take() { return std::move(spans_); }

 private:
  Spans spans_;
  std::size_t at_ = 0;
};

Spans match_rule(std::string_view name, std::string_view text) {
  RuleSpans rule;
  pre_tokenize(find_pre_tokenizer_rule(name)->stages, text, rule);
  return rule.take();
}

// Passes a piece through the steps from one on.
class Chain {
 public:
  Chain(std::span<const split::Step> steps, std::size_t size, PieceSink& sink)
      : steps_(steps), left_((steps.size() + 1) * (kMaxGrowth * size + kMinBytes)), sink_(sink) {}

  void pass(std::string_view text, bool at_start, std::size_t i) {
    if (text.empty()) return;
    if (text.size() > left_)
      fail<ValueError>("the steps that split a text make it too long to encode at once");
    left_ -= text.size();
    if (i == steps_.size()) return sink_.piece(text);
    std::visit([&](const auto& step) { apply(step, text, at_start, i + 1); }, steps_[i]);
  }

 private:
  void pass_all(std::string_view text, const Spans& spans, bool at_start, std::size_t next) {
    for (const Span& span : spans)
      pass(text.substr(span.begin, span.end - span.begin), at_start && span.begin == 0, next);
  }

  void apply(const split::AtPattern& step, std::string_view text, bool at_start, std::size_t next) {
    Spans spans = match_pattern(text, step.pattern);
    if (step.invert)
      for (Span& span : spans) span.match = !span.match;
    pass_all(text, pieces_of(std::move(spans), step.behavior), at_start, next);
  }
  void apply(const split::Metaspace& step, std::string_view text, bool at_start, std::size_t next) {
    std::string changed;
    for (const char c : text) c == ' ' ? changed += step.replacement : changed += c;
    const bool wanted = step.prefix == split::Metaspace::Prefix::always ||
                        (step.prefix == split::Metaspace::Prefix::first && at_start);
    if (wanted && !changed.starts_with(step.replacement)) changed.insert(0, step.replacement);
    check_grown_text(changed.size(), kMaxText);
    if (!step.split) return pass(changed, at_start, next);
    const Spans spans = match_chars(changed, [&, c = decode_utf8(step.replacement, 0).code](
                                                 char32_t code) { return code == c; });
    pass_all(changed, merge_with_next(spans), at_start, next);
  }
  void apply(const split::ByteLevel& step, std::string_view text, bool at_start, std::size_t next) {
    const std::string prefixed =
        step.add_prefix_space && !text.starts_with(' ') ? " " + std::string(text) : std::string();
    if (!prefixed.empty()) text = prefixed;
    if (!step.split_like_gpt2) return pass_bytes(text, at_start, next);
    for (const Span& span : match_rule("gpt-2", text)) {
      pass_bytes(text.substr(span.begin, span.end - span.begin), at_start && span.begin == 0, next);
    }
  }
  void pass_bytes(std::string_view text, bool at_start, std::size_t next) {
    std::string written;
    for (const char c : text) written += byte_as_text(static_cast<std::uint8_t>(c));
    pass(written, at_start, next);
  }
  void apply(const split::ByRule& step, std::string_view text, bool at_start, std::size_t next) {
    pass_all(text, match_rule(step.name, text), at_start, next);
  }
  void apply(const split::Punctuation& step, std::string_view text, bool at_start,
             std::size_t next) {
    pass_all(text, pieces_of(match_chars(text, is_punctuation), step.behavior), at_start, next);
  }
  void apply(const split::Digits& step, std::string_view text, bool at_start, std::size_t next) {
    const Behavior behavior = step.individual ? Behavior::isolated : Behavior::contiguous;
    pass_all(text, pieces_of(match_chars(text, is_number), behavior), at_start, next);
  }
  void apply(split::Whitespace, std::string_view text, bool at_start, std::size_t next) {
    Spans words = match_words(text);
    std::erase_if(words, [](const Span& span) { return !span.match; });
    pass_all(text, words, at_start, next);
  }
  void apply(split::WhitespaceOnly, std::string_view text, bool at_start, std::size_t next) {
    pass_all(text, pieces_of(match_chars(text, is_space), Behavior::removed), at_start, next);
  }
  void apply(split::BertWords, std::string_view text, bool at_start, std::size_t next) {
    for (const Span& span : pieces_of(match_chars(text, is_space), Behavior::removed)) {
      const std::string_view word = text.substr(span.begin, span.end - span.begin);
      pass_all(word, match_chars(word, is_punctuation), at_start && span.begin == 0, next);
    }
  }
  void apply(const split::FixedLength& step, std::string_view text, bool at_start,
             std::size_t next) {
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = begin;
      for (std::size_t n = 0; n < step.n_chars && end < text.size(); ++n)
        end += decode_utf8(text, end).length;
      pass(text.substr(begin, end - begin), at_start && begin == 0, next);
      begin = end;
    }
  }

  // Steps may write bytes and spaces as several bytes, and put a space before every piece; no file
  // needs that several times over.
  static constexpr std::size_t kMaxGrowth = 8, kMinBytes = 4096;

  std::span<const split::Step> steps_;
  std::size_t left_;  // bytes that may still be passed on, for all steps together
  PieceSink& sink_;
};

}  // namespace

Splitter::Splitter(std::span<const split::Step> steps) : steps_(steps.begin(), steps.end()) {
  for (const split::Step& step : steps_) {
    const auto* rule = std::get_if<split::ByRule>(&step);
    if (rule && !find_pre_tokenizer_rule(rule->name))
      fail<UnsupportedError>("there is no pre-tokenizer rule '{}'", rule->name);
    if (const auto* pattern = std::get_if<split::AtPattern>(&step)) check_pattern(pattern->pattern);
    const auto* length = std::get_if<split::FixedLength>(&step);
    if (length && length->n_chars == 0) fail<FormatError>("pieces of no characters");
    const auto* spaces = std::get_if<split::Metaspace>(&step);
    if (spaces && spaces->replacement.empty()) fail<FormatError>("a space has no replacement");
  }
}

void Splitter::split(std::string_view text, bool at_start, PieceSink& sink) const {
  Chain(steps_, text.size(), sink).pass(text, at_start, 0);
}

}  // namespace weft::tokenize
