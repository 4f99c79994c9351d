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

}  // namespace weft::tokenize
