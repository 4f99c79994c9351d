#include "chat/paste.h"

#include <cwchar>

#include "weft/base/text_file.h"
#include "weft/base/utf8.h"

namespace weft::chat {
namespace {

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

}  // namespace

std::string pasted_text(std::string_view bytes) {
  bytes = without_byte_order_mark(bytes);
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    if (rest.starts_with(kPasteBegin) || rest.starts_with(kPasteEnd)) {
      at += kPasteBegin.size();
      continue;
    }
    const Utf8Char c = decode_utf8(bytes, at);
    at += c.length;
    if (c.code == '\r' && bytes.substr(at).starts_with('\n')) continue;
    if (c.code == '\r' || c.code == '\n')
      text += '\n';
    else if (c.code == '\t' || (c.valid && !is_control(c.code)))
      text += rest.substr(0, c.length);
  }
  return text;
}

std::size_t row_after(std::wstring_view text, std::size_t first, std::size_t columns) {
  constexpr std::size_t kTab = 8;
  std::size_t row = 0, column = first;
  for (const wchar_t c : text) {
    const int width = c == L'\t' ? static_cast<int>(kTab - column % kTab) : wcwidth(c);
    if (c == L'\n') ++row, column = 0;
    if (width <= 0) continue;
    column += static_cast<std::size_t>(width);
    if (column > columns) ++row, column = static_cast<std::size_t>(width);
    if (column == columns) ++row, column = 0;
  }
  return row;
}

}  // namespace weft::chat
