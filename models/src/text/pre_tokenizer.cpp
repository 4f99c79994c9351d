#include "text/pre_tokenizer.h"

#include <algorithm>
#include <cstddef>

#include "text/utf8.h"

namespace weft {
namespace {

using namespace char_class;

// A match that ends at `end`, or none; then no match begins before `end` either.
struct Match {
  bool found;
  std::size_t end;
};

// A piece of text as a sequence of classified characters. Bytes that are not UTF-8 are characters
// of no class.
class Reader {
 public:
  struct Char {
    char32_t code = 0;
    CharClass bits = 0;
    std::size_t next = 0;  // where the following one begins
  };

  explicit Reader(std::string_view text) : text_(text) {}

  std::size_t size() const { return text_.size(); }
  // Past the end: a character of no class whose code is 0 and that is followed by itself.
  Char at(std::size_t i) const {
    if (i >= text_.size()) return {.next = i};
    const Utf8Char c = decode_utf8(text_, i);
    return {c.code, c.valid ? classify(c.code) : CharClass{0}, i + c.length};
  }
  char byte(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // The end of the longest run of characters from `i` on that satisfy `accept`, of at most `max`.
  template <class Accept>
  std::size_t run(std::size_t i, Accept accept, int max = kUnlimited) const {
    for (int n = 0; n < max && i < text_.size(); ++n) {
      const Char c = at(i);
      if (!accept(c)) break;
      i = c.next;
    }
    return i;
  }

 private:
  std::string_view text_;
};

Match match_run(const RunStage& stage, const Reader& text, std::size_t i) {
  const auto accept = [&](const Reader::Char& c) { return stage.contains(c.code); };
  const Reader::Char first = text.at(i);
  const bool lead = (stage.lead == RunStage::Lead::space && first.code == ' ') ||
                    (stage.lead == RunStage::Lead::white_space && (first.bits & kSpace) != 0);
  for (const std::size_t begin : {lead ? first.next : i, i}) {
    std::size_t end = begin;
    int n = 0;
    for (; n < stage.max && end < text.size(); ++n) {
      const Reader::Char c = text.at(end);
      if (!accept(c)) break;
      end = c.next;
    }
    if (stage.at_end && n > 0 && end < text.size()) return {false, end};
    if (n >= stage.min) return {true, end};
  }
  return {false, first.next};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The end of a contraction that starts at `i`; `i` where there is none.
std::size_t contraction(WordStage::Contractions mode, const Reader& text, std::size_t i) {
  if (mode == WordStage::Contractions::none || text.byte(i) != '\'') return i;
  const bool fold = mode == WordStage::Contractions::any_case;
  const char a = fold ? lower(text.byte(i + 1)) : text.byte(i + 1);
  const char b = fold ? lower(text.byte(i + 2)) : text.byte(i + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return i + 3;
  return i;
}

bool is_ascii_letter(const Reader::Char& c) {
  return (c.code >= 'a' && c.code <= 'z') || (c.code >= 'A' && c.code <= 'Z');
}

std::size_t ascii_punctuated_word(const Reader& text, std::size_t i) {
  const char32_t c = text.at(i).code;
  if (c < 0x21 || c > 0x7E || is_ascii_letter({.code = c}) || (c >= '0' && c <= '9')) return i;
  const std::size_t end = text.run(i + 1, is_ascii_letter);
  return end > i + 1 ? end : i;
}

constexpr CharClass kUpperForm = kUpper | kOtherLetter | kMark;
constexpr CharClass kLowerForm = kLower | kOtherLetter | kMark;

// UPPER* LOWER+ from `i` on; `i` where it does not match. Letters without case and marks are in
// both sets: where no LOWER follows the run of UPPER, the last of them that is LOWER too ends the
// match.
std::size_t upper_then_lower(const Reader& text, std::size_t i) {
  std::size_t end_of_last_both = i;
  std::size_t at = i;
  while (at < text.size()) {
    const Reader::Char c = text.at(at);
    if ((c.bits & kUpperForm) == 0) break;
    at = c.next;
    if ((c.bits & kLowerForm) != 0) end_of_last_both = at;
  }
  const std::size_t end =
      text.run(at, [](const Reader::Char& c) { return (c.bits & kLowerForm) != 0; });
  return end > at ? end : end_of_last_both;
}

// UPPER+ LOWER*, where upper_then_lower found nothing: all of UPPER.
std::size_t upper_run(const Reader& text, std::size_t i) {
  return text.run(i, [](const Reader::Char& c) { return (c.bits & kUpperForm) != 0; });
}

std::size_t word_body(const WordStage& stage, const Reader& text, std::size_t i) {
  return text.run(i, [&](const Reader::Char& c) { return (c.bits & stage.letters) != 0; });
}

template <class Body>
std::size_t with_prefix(const WordStage& stage, const Reader& text, std::size_t i, Body body) {
  const Reader::Char first = text.at(i);
  const bool prefix =
      stage.prefix_is_space ? first.code == ' ' : (first.bits & stage.not_prefix) == 0;
  if (prefix) {
    const std::size_t end = body(first.next);
    if (end > first.next) return end;
  }
  return body(i);
}

std::size_t word(const WordStage& stage, const Reader& text, std::size_t i) {
  if (!stage.split_case) {
    return with_prefix(stage, text, i, [&](std::size_t at) { return word_body(stage, text, at); });
  }
  std::size_t end =
      with_prefix(stage, text, i, [&](std::size_t at) { return upper_then_lower(text, at); });
  if (end == i)
    end = with_prefix(stage, text, i, [&](std::size_t at) { return upper_run(text, at); });
  return end == i ? i : contraction(stage.split_case_suffix, text, end);
}

std::size_t number(const WordStage& stage, const Reader& text, std::size_t i) {
  if (stage.max_digits == 0) return i;
  const std::size_t begin = stage.digits_take_space && text.byte(i) == ' ' ? i + 1 : i;
  const std::size_t end = text.run(
      begin, [](const Reader::Char& c) { return (c.bits & kNumber) != 0; }, stage.max_digits);
  return end > begin ? end : i;
}

std::size_t punctuation(const WordStage& stage, const Reader& text, std::size_t i) {
  const auto accept = [&](const Reader::Char& c) {
    return stage.punctuation != 0 ? (c.bits & stage.punctuation) != 0
                                  : (c.bits & stage.not_punctuation) == 0;
  };
  const std::size_t begin = text.byte(i) == ' ' ? i + 1 : i;
  const std::size_t end = text.run(begin, accept);
  if (end == begin) return i;
  if (stage.newline_tail == WordStage::NewlineTail::none) return end;
  const bool slashes = stage.newline_tail == WordStage::NewlineTail::newlines_and_slashes;
  return text.run(end, [&](const Reader::Char& c) {
    return (c.bits & kNewline) != 0 || (slashes && c.code == '/');
  });
}

Match white_space(const WordStage& stage, const Reader& text, std::size_t i) {
  std::size_t after_newline = i;
  std::size_t last_begin = i;
  std::size_t end = i;
  while (end < text.size()) {
    const Reader::Char c = text.at(end);
    if ((c.bits & kSpace) == 0) break;
    if ((c.bits & kNewline) != 0) after_newline = c.next;
    last_begin = end;
    end = c.next;
  }
  if (stage.newlines && after_newline > i) return {true, after_newline};
  if (end == text.size() && end > i) return {true, end};
  if (last_begin > i) return {true, last_begin};  // the last one is left for the word that follows
  if (stage.lone_space && end > i) return {true, end};
  return {false, text.at(i).next};
}

Match match_word(const WordStage& stage, const Reader& text, std::size_t i) {
  std::size_t end = contraction(stage.contractions, text, i);
  if (end == i && stage.ascii_punctuated_words) end = ascii_punctuated_word(text, i);
  if (end == i) end = word(stage, text, i);
  if (end == i) end = number(stage, text, i);
  if (end == i) end = punctuation(stage, text, i);
  return end > i ? Match{true, end} : white_space(stage, text, i);
}

}  // namespace

void pre_tokenize(std::span<const SplitStage> stages, std::string_view text, PieceSink& sink) {
  if (stages.empty()) {
    sink.piece(text);
    return;
  }
  const auto rest = stages.subspan(1);
  const Reader reader(text);
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Match match = std::visit(
        [&](const auto& stage) {
          if constexpr (std::is_same_v<std::decay_t<decltype(stage)>, RunStage>) {
            return match_run(stage, reader, i);
          } else {
            return match_word(stage, reader, i);
          }
        },
        stages.front());
    if (match.found) {
      if (done < i) pre_tokenize(rest, text.substr(done, i - done), sink);
      pre_tokenize(rest, text.substr(i, match.end - i), sink);
      done = match.end;
    }
    i = match.end;
  }
  if (done < text.size()) pre_tokenize(rest, text.substr(done), sink);
}

}  // namespace weft
