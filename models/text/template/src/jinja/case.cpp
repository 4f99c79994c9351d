// Upper and lower case as defined by Unicode.
#include <algorithm>

#include <utf8proc.h>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

// Characters that become several in upper case (Unicode's SpecialCasing, without conditions).
struct Special {
  char32_t from;
  std::string_view upper, title;
};
constexpr Special kSpecial[] = {
    {0xDF, "SS", "Ss"},   {0x149, "ʼN", "ʼN"},  {0x1F0, "J̌", "J̌"},      {0xFB00, "FF", "Ff"},
    {0xFB01, "FI", "Fi"}, {0xFB02, "FL", "Fl"}, {0xFB03, "FFI", "Ffi"}, {0xFB04, "FFL", "Ffl"},
    {0xFB05, "ST", "St"}, {0xFB06, "ST", "St"}, {0x587, "ԵՒ", "Եւ"},
};

bool is_cased(char32_t c) {
  const auto code = static_cast<utf8proc_int32_t>(c);
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT || utf8proc_toupper(code) != code ||
         utf8proc_tolower(code) != code;
}

bool is_letter_at(const std::string& text, std::size_t at) {
  return at < text.size() && is_cased(decode_utf8(text, at).code);
}

void add_cased(char32_t c, Case how, std::string& out) {
  if (c < 0x80) {
    const char ch = static_cast<char>(c);
    const bool to_upper = how == Case::upper || how == Case::title;
    if (to_upper && ch >= 'a' && ch <= 'z')
      out += static_cast<char>(ch - 32);
    else if (!to_upper && ch >= 'A' && ch <= 'Z')
      out += static_cast<char>(ch + 32);
    else
      out += ch;
    return;
  }
  const auto code = static_cast<utf8proc_int32_t>(c);
  if (how != Case::lower) {
    const auto special = std::ranges::find(kSpecial, c, &Special::from);
    if (special != std::end(kSpecial)) {
      out += how == Case::upper ? special->upper : special->title;
      return;
    }
  }
  if (how == Case::lower && c == 0x130) {  // İ
    out += "i̇";
    return;
  }
  append_utf8(static_cast<char32_t>(how == Case::upper   ? utf8proc_toupper(code)
                                    : how == Case::title ? utf8proc_totitle(code)
                                                         : utf8proc_tolower(code)),
              out);
}

}  // namespace

Value change_case(Runtime& r, const Str& s, Case how) {
  r.heap.work(s.text.size() * 4);
  TextBuilder out;
  out.markup = s.markup;
  bool inside = false;  // the last character was part of a word
  auto range = s.foreign.begin();
  for (std::size_t at = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    const std::size_t next = at + c.length;
    Case now = how;
    if (how == Case::title) now = inside ? Case::lower : Case::title;
    if (how == Case::capitalize) now = at > 0 ? Case::lower : Case::title;
    if (how == Case::fold) now = Case::lower;
    if (how == Case::swap) {
      std::string lower;
      add_cased(c.code, Case::lower, lower);
      now = std::string_view(s.text).substr(at, c.length) == lower ? Case::upper : Case::lower;
    }
    if (how == Case::title) inside = is_cased(c.code);
    std::string changed;
    if (how == Case::fold && c.code == 0xDF) {
      changed = "ss";
      // A sigma at the end of a word has its own form.
    } else if (how != Case::fold && now == Case::lower && c.code == 0x3A3 && at > 0 &&
               !is_letter_at(s.text, next)) {
      std::size_t before = at - 1;
      while (before > 0 && (s.text[before] & 0xC0) == 0x80) --before;
      append_utf8(is_letter_at(s.text, before) ? 0x3C2 : 0x3C3, changed);
    } else {
      add_cased(c.code, now, changed);
    }
    while (range != s.foreign.end() && range->end <= at) ++range;
    const bool foreign = range != s.foreign.end() && range->begin <= at;
    foreign ? out.add_foreign(changed) : out.add(changed);
    at = next;
  }
  return Value::from(r.heap.str(std::move(out)));
}

}  // namespace weft::jinja
