// Python's str() and repr() of values, and its white space.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <utf8proc.h>

#include "weft/base/printable.h"
#include "weft/base/utf8.h"

#include "jinja/value.h"

namespace weft::jinja {
namespace {

bool printable(char32_t c) {
  if (c < 0x7F) return c >= ' ';
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string escape(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  const auto n = static_cast<std::uint32_t>(c);
  return n < 0x100     ? fmt::format("\\x{:02x}", n)
         : n < 0x10000 ? fmt::format("\\u{:04x}", n)
                       : fmt::format("\\U{:08x}", n);
}

void repr_string(const Str& s, TextBuilder& out) {
  if (s.markup) out.add("Markup(");
  const bool has_single = s.text.find('\'') != std::string::npos;
  const char quote = has_single && s.text.find('"') == std::string::npos ? '"' : '\'';
  out.add({&quote, 1});
  std::size_t plain = 0;  // not yet written
  for (std::size_t at = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    const bool marked = c.code == '\\' || c.code == static_cast<char32_t>(quote);
    if (marked || !printable(c.code)) {
      out.add(s, plain, at);
      if (marked)
        out.add("\\"), out.add(s, at, at + c.length);
      else
        out.add(escape(c.code));
      plain = at + c.length;
    }
    at += c.length;
  }
  out.add(s, plain, s.text.size());
  out.add({&quote, 1});
  if (s.markup) out.add(")");
}

void repr_pairs(Heap& heap, const Dict& dict, TextBuilder& out, int depth) {
  out.add("{");
  bool first = true;
  for (const auto& [key, value] : dict.items) {
    if (!std::exchange(first, false)) out.add(", ");
    repr(heap, key, out, depth + 1);
    out.add(": ");
    repr(heap, value, out, depth + 1);
  }
  out.add("}");
}

void repr_list(Heap& heap, const List& list, TextBuilder& out, int depth) {
  using Type = List::Type;
  if (list.type == Type::iterator) return out.add("<generator object>");
  if (list.type == Type::range) {
    const auto& items = list.items;
    const auto n = static_cast<std::int64_t>(items.size());
    if (n == 0) return out.add("range(0, 0)");
    const std::int64_t step = n > 1 ? items[1].integer - items[0].integer : 1;
    std::int64_t end = 0;
    if (__builtin_add_overflow(items.back().integer, step, &end))
      end = step > 0 ? INT64_MAX : INT64_MIN;
    return out.add(step == 1 ? fmt::format("range({}, {})", items[0].integer, end)
                             : fmt::format("range({}, {}, {})", items[0].integer, end, step));
  }
  const bool tuple = list.type == Type::tuple;
  if (list.type >= Type::keys)
    out.add(type_name(Value::from(const_cast<List*>(&list)))), out.add("(");
  out.add(tuple ? "(" : "[");
  bool first = true;
  for (const Value& item : list.items) {
    if (!std::exchange(first, false)) out.add(", ");
    repr(heap, item, out, depth + 1);
  }
  out.add(tuple ? list.items.size() == 1 ? ",)" : ")" : "]");
  if (list.type >= Type::keys) out.add(")");
}

}  // namespace

// The shortest digits that round-trip; without an exponent between 1e-4 and 1e16.
std::string repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, end.ptr, exponent);
  if (exponent >= -4 && exponent < 16) {
    const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed);
    std::string plain(buffer, fixed.ptr);
    if (plain.find('.') == std::string::npos) plain += ".0";
    return plain;
  }
  return fmt::format("{}e{}{:02}", text.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
}

void repr(Heap& heap, const Value& v, TextBuilder& out, int depth) {
  heap.step();
  if (depth > kMaxValueDepth) heap.fail("a value is nested more than {} deep", kMaxValueDepth);
  heap.check_length(out.text.size());
  switch (v.kind) {
    case Kind::undefined:
      return out.add("Undefined");
    case Kind::string:
      heap.work(v.text->text.size());
      return repr_string(*v.text, out);
    case Kind::list:
      return repr_list(heap, *v.list, out, depth);
    case Kind::dict:
      return repr_pairs(heap, *v.dict, out, depth);
    case Kind::space:
      out.add("<Namespace ");
      repr_pairs(heap, *v.dict, out, depth);
      return out.add(">");
    case Kind::callable:
      return out.add(v.callable->macro ? fmt::format("<Macro '{}'>", v.callable->name)
                                       : fmt::format("<function {}>", v.callable->name));
    case Kind::loop:
      return out.add(fmt::format("<LoopContext {}/{}>", v.loop->at + 1, v.loop->items.size()));
    default:
      return out.add(*to_str(heap, v));
  }
}

std::string repr(Heap& heap, const Value& v) {
  TextBuilder out;
  repr(heap, v, out, 0);
  return std::move(out.text);
}

const Str* to_str(Heap& heap, const Value& v) {
  switch (v.kind) {
    case Kind::string:
    case Kind::big:
      return v.text;
    case Kind::undefined:
      return heap.str("");
    case Kind::none:
      return heap.str("None");
    case Kind::boolean:
      return heap.str(v.boolean ? "True" : "False");
    case Kind::integer:
      return heap.str(std::to_string(v.integer));
    case Kind::real:
      return heap.str(repr(v.real));
    default: {
      TextBuilder out;
      repr(heap, v, out, 0);
      return heap.str(std::move(out));
    }
  }
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_decimal(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text, at);
    if (!is_space(c.code)) break;
    at += c.length;
  }
  return at;
}

std::string_view trim_right(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
    if (!is_space(decode_utf8(text, begin).code)) break;
    end = begin;
  }
  return text.substr(0, end);
}

}  // namespace weft::jinja
