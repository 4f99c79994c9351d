#include "unicode/unicode_class.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include <utf8proc.h>

namespace weft::tokenize {
namespace {

using namespace char_class;

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// Unicode 15.0, Scripts.txt: the ranges of script Han, which utf8proc does not have.
bool is_han(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
      {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
      {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
      {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
      {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2F800, 0x2FA1D}, {0x30000, 0x3134A},
      {0x31350, 0x323AF},
  };
  const auto* after =
      std::upper_bound(std::begin(kRanges), std::end(kRanges), c,
                       [](char32_t value, const auto& range) { return value < range.first; });
  return after != std::begin(kRanges) && c <= std::prev(after)->second;
}

CharClass category_bits(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kOtherLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kDecimal;
    case UTF8PROC_CATEGORY_NL:
      return kNumber | kLetterNumber;
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
      return kPunctuation | kConnector;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    default:
      return 0;
  }
}

CharClass compute(char32_t c) {
  CharClass bits = category_bits(c);
  if (is_white_space(c)) bits |= kSpace;
  if (c >= 0x2E80 && is_han(c)) bits |= kHan;
  if (c == '\r' || c == '\n') bits |= kNewline;
  return bits;
}

// Most texts hold little beyond the first plane of Unicode.
constexpr char32_t kTable = 0x10000;
constexpr CharClass kKnown = 0x8000;  // the entry of the table was computed
static_assert((kKnown & (kUpper | kLower | kOtherLetter | kMark | kNumber | kPunctuation | kSymbol |
                         kSpace | kNewline | kDecimal | kLetterNumber | kConnector | kHan)) == 0);

}  // namespace

CharClass classify(char32_t code) {
  if (code >= kTable) return compute(code);
  // An entry is computed when it is first needed: few texts use many of them. Threads that meet
  // here compute the same.
  static std::atomic<CharClass> table[kTable];
  CharClass bits = table[code].load(std::memory_order_relaxed);
  if (bits == 0) {
    bits = compute(code) | kKnown;
    table[code].store(bits, std::memory_order_relaxed);
  }
  return bits & static_cast<CharClass>(~kKnown);
}

bool is_word_char(char32_t c) {
  const bool letter_like_symbol = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                                  (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  const bool joiner = c == 0x200C || c == 0x200D;
  return letter_like_symbol || joiner ||
         (classify(c) & (kLetter | kLetterNumber | kMark | kDecimal | kConnector)) != 0;
}

}  // namespace weft::tokenize
