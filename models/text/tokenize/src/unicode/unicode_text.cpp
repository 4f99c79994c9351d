#include "unicode/unicode_text.h"

#include <utf8proc.h>

#include "weft/base/utf8.h"

namespace weft::tokenize {
namespace {

constexpr char32_t kCapitalIWithDot = 0x130;
constexpr char32_t kDotAbove = 0x307;

}  // namespace

int decompose(char32_t code, char32_t* out) {
  utf8proc_int32_t codes[kMaxDecomposed];
  int boundary = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), codes, kMaxDecomposed,
                                         UTF8PROC_DECOMPOSE, &boundary);
  if (n <= 0 || n > kMaxDecomposed) {
    out[0] = code;
    return 1;
  }
  for (int i = 0; i < n; ++i) out[i] = static_cast<char32_t>(codes[i]);
  return static_cast<int>(n);
}

char32_t lower_case(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid) {
      append_utf8(lower_case(c.code), out);
      if (c.code == kCapitalIWithDot) append_utf8(kDotAbove, out);
    } else {
      out += text[at];
    }
    at += c.length;
  }
  return out;
}

bool is_nonspacing_mark(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_MN;
}

bool is_control_or_private(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

// Tabs and line ends count as spaces although they are controls.
bool is_removed_by_bert(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0 || c == kReplacementCharacter || is_control_or_private(c);
}

bool is_bert_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::size_t last_char(std::string_view text) {
  constexpr std::size_t kMaxUtf8 = 4;
  for (std::size_t n = 1; n <= kMaxUtf8 && n <= text.size(); ++n) {
    const std::size_t begin = text.size() - n;
    const Utf8Char c = decode_utf8(text, begin);
    if (c.valid && c.length == n) return begin;
  }
  return text.size() - 1;
}

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  Utf8Char before = decode_utf8(text, at);
  for (at += before.length; at < text.size(); at += before.length) {
    const Utf8Char c = decode_utf8(text, at);
    if (!before.valid || !c.valid ||
        utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.code),
                                         static_cast<utf8proc_int32_t>(c.code), &state))
      break;
    before = c;
  }
  return at;
}

}  // namespace weft::tokenize
