#include "split/pre_tokenizer.h"

#include <algorithm>
#include <cstddef>

#include "weft/base/text.h"

#include "unicode/char_reader.h"

namespace weft::tokenize {
namespace {

using namespace char_class;

Match match_run(const RunStage& stage, const CharReader& text, std::size_t i) {
  const auto accept = [&](const CharReader::Char& c) { return stage.contains(c.code); };
  const CharReader::Char first = text.at(i);
  const bool lead = (stage.lead == RunStage::Lead::space && first.code == ' ') ||
                    (stage.lead == RunStage::Lead::white_space && (first.bits & kSpace) != 0);
  for (const std::size_t begin : {lead ? first.next : i, i}) {
    std::size_t end = begin;
    int n = 0;
    for (; n < stage.max && end < text.size(); ++n) {
      const CharReader::Char c = text.at(end);
      if (!accept(c)) break;
      end = c.next;
    }
    if (stage.at_end && n > 0 && end < text.size()) return {false, end};
    if (n >= stage.min) return {true, end};
  }
  return {false, first.next};
}

// The end of a contraction that starts at `i`; `i` if there is none.
std::size_t contraction(WordStage::Contractions mode, const CharReader& text, std::size_t i) {
  if (mode == WordStage::Contractions::none || text.byte(i) != '\'') return i;
  const bool fold = mode == WordStage::Contractions::any_case;
  const char a = fold ? to_lower(text.byte(i + 1)) : text.byte(i + 1);
  const char b = fold ? to_lower(text.byte(i + 2)) : text.byte(i + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
  // The long s counts as an s if case is ignored.
  if (fold && text.has(i + 1, "\u017F")) return i + 3;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return i + 3;
  return i;
}

bool is_ascii_letter(const CharReader::Char& c) {
  return (c.code >= 'a' && c.code <= 'z') || (c.code >= 'A' && c.code <= 'Z');
}

std::size_t ascii_punctuated_word(const CharReader& text, std::size_t i) {
  const char32_t c = text.at(i).code;
  if (c < 0x21 || c > 0x7E || is_ascii_letter({.code = c}) || (c >= '0' && c <= '9')) return i;
  const std::size_t end = text.run(i + 1, is_ascii_letter);
  return end > i + 1 ? end : i;
}

constexpr CharClass kUpperForm = kUpper | kOtherLetter | kMark;
constexpr CharClass kLowerForm = kLower | kOtherLetter | kMark;

// UPPER* LOWER+ from `i` on; `i` if it does not match. Letters without case and marks are in
// both sets: if no LOWER follows the run of UPPER, the last of them that is LOWER too ends the
// match.
std::size_t upper_then_lower(const CharReader& text, std::size_t i, CharClass excluded) {
  std::size_t end_of_last_both = i;
  std::size_t at = i;
  while (at < text.size()) {
    const CharReader::Char c = text.at(at);
    if ((c.bits & kUpperForm) == 0 || (c.bits & excluded) != 0) break;
    at = c.next;
    if ((c.bits & kLowerForm) != 0) end_of_last_both = at;
  }
  const std::size_t end = text.run(at, [&](const CharReader::Char& c) {
    return (c.bits & kLowerForm) != 0 && (c.bits & excluded) == 0;
  });
  return end > at ? end : end_of_last_both;
}

// UPPER+ LOWER*, if upper_then_lower found nothing: all of UPPER.
std::size_t upper_run(const CharReader& text, std::size_t i, CharClass excluded) {
  return text.run(i, [&](const CharReader::Char& c) {
    return (c.bits & kUpperForm) != 0 && (c.bits & excluded) == 0;
  });
}

// Letters followed by marks, and single spaces between two letters.
std::size_t phrase(const CharReader& text, std::size_t i) {
  const auto is_letter = [&](std::size_t at) { return (text.at(at).bits & kLetter) != 0; };
  if (!is_letter(i)) return i;
  std::size_t end = text.at(i).next;
  for (;;) {
    end =
        text.run(end, [](const CharReader::Char& c) { return (c.bits & (kLetter | kMark)) != 0; });
    if (text.byte(end) != ' ' || !is_letter(end + 1)) return end;
    ++end;
  }
}

std::size_t word_body(const WordStage& stage, const CharReader& text, std::size_t i) {
  if (stage.phrases) return phrase(text, i);
  return text.run(i, [&](const CharReader::Char& c) { return (c.bits & stage.letters) != 0; });
}

template <class Body>
std::size_t with_prefix(const WordStage& stage, const CharReader& text, std::size_t i, Body body) {
  const CharReader::Char first = text.at(i);
  const bool prefix =
      stage.prefix_is_space ? first.code == ' ' : (first.bits & stage.not_prefix) == 0;
  if (prefix) {
    const std::size_t end = body(first.next);
    if (end > first.next) return end;
  }
  return body(i);
}

std::size_t word(const WordStage& stage, const CharReader& text, std::size_t i) {
  if (!stage.split_case) {
    return with_prefix(stage, text, i, [&](std::size_t at) { return word_body(stage, text, at); });
  }
  const CharClass excluded = stage.han_apart ? kHan : 0;
  std::size_t end = with_prefix(
      stage, text, i, [&](std::size_t at) { return upper_then_lower(text, at, excluded); });
  if (end == i)
    end =
        with_prefix(stage, text, i, [&](std::size_t at) { return upper_run(text, at, excluded); });
  return end == i ? i : contraction(stage.split_case_suffix, text, end);
}

std::size_t number(const WordStage& stage, const CharReader& text, std::size_t i) {
  if (stage.max_digits == 0) return i;
  const std::size_t begin = stage.digits_take_space && text.byte(i) == ' ' ? i + 1 : i;
  const std::size_t end = text.run(
      begin, [](const CharReader::Char& c) { return (c.bits & kNumber) != 0; }, stage.max_digits);
  return end > begin ? end : i;
}

std::size_t punctuation(const WordStage& stage, const CharReader& text, std::size_t i) {
  const auto accept = [&](const CharReader::Char& c) {
    return stage.punctuation != 0 ? (c.bits & stage.punctuation) != 0
                                  : (c.bits & stage.not_punctuation) == 0;
  };
  const std::size_t begin = text.byte(i) == ' ' ? i + 1 : i;
  const std::size_t end = text.run(begin, accept);
  if (end == begin) return i;
  if (stage.newline_tail == WordStage::NewlineTail::none) return end;
  if (stage.newline_tail == WordStage::NewlineTail::one)
    return (text.at(end).bits & kNewline) != 0 ? end + 1 : end;
  const bool slashes = stage.newline_tail == WordStage::NewlineTail::newlines_and_slashes;
  return text.run(end, [&](const CharReader::Char& c) {
    return (c.bits & kNewline) != 0 || (slashes && c.code == '/');
  });
}

Match white_space(const WordStage& stage, const CharReader& text, std::size_t i) {
  std::size_t after_newline = i;
  std::size_t last_begin = i;
  std::size_t end = i;
  while (end < text.size()) {
    const CharReader::Char c = text.at(end);
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

// White space as halving_spaces describes it.
Match halved_spaces(const CharReader& text, std::size_t i, RunMemo& memo) {
  const auto is_space = [](const CharReader::Char& c) { return (c.bits & kSpace) != 0; };
  if (i >= memo.end) {
    memo.after_newline = i;
    memo.end = text.run(i, [&](const CharReader::Char& c) {
      if ((c.bits & kNewline) != 0) memo.after_newline = c.next;
      return is_space(c);
    });
  }
  if (memo.after_newline > i) return {true, memo.after_newline};
  if (memo.end == i) return {false, text.at(i).next};
  constexpr int kMax = 512;
  int n = 0;  // spaces that are followed by a space, as far as it matters
  for (std::size_t at = i; at < memo.end && n <= kMax; ++n) at = text.at(at).next;
  if (memo.end < text.size()) --n;
  int length = kMax;
  while (length > std::max(n, 1)) length /= 2;
  return {true, text.run(i, is_space, length)};
}

Match match_word(const WordStage& stage, const CharReader& text, std::size_t i, RunMemo& memo) {
  if (stage.han_apart) {
    const std::size_t end =
        text.run(i, [](const CharReader::Char& c) { return (c.bits & kHan) != 0; });
    if (end > i) return {true, end};
  }
  std::size_t end = contraction(stage.contractions, text, i);
  if (end == i && stage.ascii_punctuated_words) end = ascii_punctuated_word(text, i);
  if (end == i) end = word(stage, text, i);
  if (end == i) end = number(stage, text, i);
  if (end == i) end = punctuation(stage, text, i);
  if (end > i) return {true, end};
  return stage.halving_spaces ? halved_spaces(text, i, memo) : white_space(stage, text, i);
}

struct MatchStage {
  const CharReader& text;
  std::size_t i;
  RunMemo& memo;
  Match operator()(const RunStage& stage) const { return match_run(stage, text, i); }
  Match operator()(const WordStage& stage) const { return match_word(stage, text, i, memo); }
  Match operator()(SplitFunction function) const { return function(text, i, memo); }
};

Match match_stage(const SplitStage& stage, const CharReader& text, std::size_t i, RunMemo& memo) {
  return std::visit(MatchStage{text, i, memo}, stage);
}

}  // namespace

void pre_tokenize(std::span<const SplitStage> stages, std::string_view text, PieceSink& sink) {
  if (stages.empty()) {
    sink.piece(text);
    return;
  }
  const auto rest = stages.subspan(1);
  const CharReader reader(text);
  RunMemo memo;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Match match = match_stage(stages.front(), reader, i, memo);
    if (match.found) {
      if (done < i) pre_tokenize(rest, text.substr(done, i - done), sink);
      pre_tokenize(rest, text.substr(i, match.end - i), sink);
      done = match.end;
    }
    i = match.end;
  }
  if (done < text.size()) pre_tokenize(rest, text.substr(done), sink);
}

}  // namespace weft::tokenize
