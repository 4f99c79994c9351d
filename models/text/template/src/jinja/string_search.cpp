// The methods of texts that only search.
#include <algorithm>
#include <cstring>

#include <utf8proc.h>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

// The bytes of start and end, the second and third arguments, in characters.
TextRange within(Runtime& r, const Str& s, Args& a, std::size_t place) {
  const Value *from = a.get(place, ""), *to = a.get(place + 1, "");
  const auto n = static_cast<std::int64_t>(s.length);
  const auto bound = [&](const Value* v, std::int64_t otherwise) {
    if (!v || v->is(Kind::none)) return otherwise;
    const std::int64_t i = integer_of(r, *v);
    return i < 0 ? std::max<std::int64_t>(i + n, 0) : i;
  };
  const std::int64_t begin = bound(from, 0), end = std::min(bound(to, n), n);
  if (begin > end) return {1, 0};
  return {byte_of(r, s, static_cast<std::size_t>(begin)),
          byte_of(r, s, static_cast<std::size_t>(end))};
}

const Str& part_of(Runtime& r, Args& a) {
  const Value* v = a.get(0, "");
  if (!v) r.heap.fail("this method needs an argument");
  return string_of(r, *v);
}

template <bool Start>
Value m_starts(Runtime& r, const Value& self, Args& a) {
  const Value* given = a.get(0, "");
  if (!given) r.heap.fail("this method needs an argument");
  const TextRange range = within(r, *self.text, a, 1);
  if (range.begin > range.end) return Value::from(false);
  const std::string_view text =
      std::string_view(self.text->text).substr(range.begin, range.end - range.begin);
  const auto holds = [&](const Value& v) {
    const std::string& part = string_of(r, v).text;
    return Start ? text.starts_with(part) : text.ends_with(part);
  };
  if (given->is(Kind::list) && given->list->type == List::Type::tuple)
    return Value::from(std::ranges::any_of(given->list->items, holds));
  return Value::from(holds(*given));
}

template <bool Right, bool Fails>
Value m_find(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Str& part = part_of(r, a);
  const TextRange range = within(r, s, a, 1);
  std::size_t at = std::string_view::npos;
  if (range.begin <= range.end) {
    const std::string_view text =
        std::string_view(s.text).substr(range.begin, range.end - range.begin);
    at = Right ? rfind_text(text, part.text) : find_text(text, part.text);
  }
  if (at == std::string_view::npos) {
    if (Fails) r.heap.fail("the text does not contain this part");
    return Value::from(std::int64_t{-1});
  }
  std::int64_t characters = 0;
  for (std::size_t i = 0; i < range.begin + at; ++i) characters += (s.text[i] & 0xC0) != 0x80;
  return Value::from(characters);
}

Value m_count(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Str& part = part_of(r, a);
  const TextRange range = within(r, s, a, 1);
  if (range.begin > range.end) return Value::from(std::int64_t{0});
  const std::string_view text =
      std::string_view(s.text).substr(range.begin, range.end - range.begin);
  if (part.text.empty()) {
    std::int64_t n = 1;
    for (const char c : text) n += (c & 0xC0) != 0x80;
    return Value::from(n);
  }
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = find_text(text, part.text, at)) != text.npos;
       at += part.text.size()) {
    r.heap.step();
    ++n;
  }
  return Value::from(n);
}

bool is_alpha(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089);
}
bool is_numeric(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool is_alnum(char32_t c) {
  return is_alpha(c) || is_numeric(c);
}
bool is_ascii(char32_t c) {
  return c < 0x80;
}

// Whether the text is not empty and the predicate holds for every character.
template <bool (*Is)(char32_t), bool Empty = false>
Value m_all(Runtime&, const Value& self, Args&) {
  const std::string& text = self.text->text;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!Is(c.code)) return Value::from(false);
    at += c.length;
  }
  return Value::from(Empty || !text.empty());
}

template <Case how>
Value m_is_case(Runtime& r, const Value& self, Args&) {
  const std::string& text = self.text->text;
  const Case opposite = how == Case::lower ? Case::upper : Case::lower;
  return Value::from(change_case(r, *self.text, how).text->text == text &&
                     change_case(r, *self.text, opposite).text->text != text);
}
Value m_istitle(Runtime& r, const Value& self, Args&) {
  const std::string& text = self.text->text;
  return Value::from(change_case(r, *self.text, Case::title).text->text == text &&
                     change_case(r, *self.text, Case::swap).text->text != text);
}
Value m_isidentifier(Runtime&, const Value& self, Args&) {
  const std::string& text = self.text->text;
  bool ok = !text.empty() && !(text[0] >= '0' && text[0] <= '9');
  for (std::size_t at = 0; at < text.size() && ok;) {
    const Utf8Char c = decode_utf8(text, at);
    ok = c.code == '_' || is_alnum(c.code);
    at += c.length;
  }
  return Value::from(ok);
}

constexpr NativeRow kSearchMethods[] = {
    {"count", m_count},
    {"endswith", m_starts<false>, kReadsArguments},
    {"find", m_find<false, false>},
    {"index", m_find<false, true>},
    {"isalnum", m_all<is_alnum>},
    {"isalpha", m_all<is_alpha>},
    {"isascii", m_all<is_ascii, true>},
    {"isdecimal", m_all<is_decimal>},
    {"isdigit", m_all<is_digit>},
    {"isidentifier", m_isidentifier},
    {"islower", m_is_case<Case::lower>},
    {"isnumeric", m_all<is_numeric>},
    {"isspace", m_all<is_space>},
    {"istitle", m_istitle},
    {"isupper", m_is_case<Case::upper>},
    {"rfind", m_find<true, false>},
    {"rindex", m_find<true, true>},
    {"startswith", m_starts<true>, kReadsArguments},
};

}  // namespace

std::span<const NativeRow> string_search_methods() {
  return kSearchMethods;
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
               : std::string_view::npos;
}

std::size_t rfind_text(std::string_view text, std::string_view part) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::size_t at = find_text(backwards, std::string(part.rbegin(), part.rend()));
  return at == std::string_view::npos ? at : text.size() - at - part.size();
}

}  // namespace weft::jinja
