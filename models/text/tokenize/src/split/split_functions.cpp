#include "split/split_functions.h"

namespace weft::tokenize {
namespace {

using namespace char_class;

// The end of the run of `wanted` that starts at `i`, and its length in characters.
void remember_run(const CharReader& text, std::size_t i, CharClass wanted, RunMemo& memo) {
  memo.remaining = 0;
  memo.end = text.run(i, [&](const CharReader::Char& c) {
    const bool in = (c.bits & wanted) != 0;
    memo.remaining += in ? 1 : 0;
    return in;
  });
}

std::size_t skip(const CharReader& text, std::size_t i, std::size_t n) {
  while (n-- > 0) i = text.at(i).next;
  return i;
}

// The next group of the run that `memo` knows: one or two characters first, then three.
Match next_group(const CharReader& text, std::size_t i, RunMemo& memo) {
  const std::size_t n = memo.remaining % 3 == 0 ? 3 : memo.remaining % 3;
  memo.remaining -= n;
  return {true, skip(text, i, n)};
}

bool in_word(const CharReader::Char& c) {
  return (c.bits & (kLetter | kMark | kDecimal | kLetterNumber | kConnector)) != 0;
}

}  // namespace

Match split_grouped_decimals(const CharReader& text, std::size_t i, RunMemo& memo) {
  const CharReader::Char c = text.at(i);
  if ((c.bits & kDecimal) == 0) return {false, c.next};
  if (i >= memo.end) {
    remember_run(text, i, kDecimal, memo);
    if (in_word(text.at(memo.end))) return {false, memo.end};
  }
  return next_group(text, i, memo);
}

Match split_grouped_numbers(const CharReader& text, std::size_t i, RunMemo& memo) {
  const CharReader::Char c = text.at(i);
  if ((c.bits & kNumber) == 0) return {false, c.next};
  if (i >= memo.end) remember_run(text, i, kNumber, memo);
  return next_group(text, i, memo);
}

// A match is the text between two cuts.
Match split_before_threes(const CharReader& text, std::size_t i, RunMemo& memo) {
  std::size_t at = i;
  if (at >= memo.end) memo = {};
  while (at < text.size()) {
    if (memo.remaining == 0) {  // between two runs of digits
      const CharReader::Char c = text.at(at);
      if ((c.bits & kDecimal) == 0) {
        at = c.next;
        continue;
      }
      remember_run(text, at, kDecimal, memo);
      if (memo.remaining % 3 == 0 && at > i) return {true, at};
    }
    const std::size_t n = memo.remaining % 3 == 0 ? 3 : memo.remaining % 3;
    at = skip(text, at, n);
    memo.remaining -= n;
    if (memo.remaining > 0) return {true, at};
  }
  return {true, at};
}

Match split_sentinel(const CharReader& text, std::size_t i, RunMemo&) {
  constexpr std::string_view kBegin = "<sentinel:";
  if (!text.has(i, kBegin)) return {false, text.at(i).next};
  const std::size_t digits = i + kBegin.size();
  const std::size_t end =
      text.run(digits, [](const CharReader::Char& c) { return c.code >= '0' && c.code <= '9'; });
  if (end == digits || text.byte(end) != '>') return {false, end};
  return {true, end + 1};
}

Match split_image_token(const CharReader& text, std::size_t i, RunMemo&) {
  constexpr std::string_view kBegin = "IMGIMG";
  if (!text.has(i, kBegin)) return {false, text.at(i).next};
  const std::size_t letters = i + kBegin.size();
  const std::size_t end = text.run(
      letters, [](const CharReader::Char& c) { return c.code >= 'A' && c.code <= 'I'; }, 4);
  if (end == letters || text.byte(end) != 'Z') return {false, i + 1};
  return {true, end + 1};
}

Match split_indentation(const CharReader& text, std::size_t i, RunMemo&) {
  if (text.byte(i) == '\t' || text.byte(i) == '\n') return {true, i + 1};
  if (text.has(i, "    ")) return {true, i + 4};
  if (text.has(i, "  ")) return {true, i + 2};
  return {false, text.at(i).next};
}

}  // namespace weft::tokenize
