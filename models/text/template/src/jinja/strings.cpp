// The methods of texts that return new texts. Those that only search are in string_search.cpp.
#include <algorithm>

#include "weft/base/no_destructor.h"
#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

bool starts_at(const std::string& text, std::size_t at, std::string_view part) {
  return std::string_view(text).substr(at).starts_with(part);
}

const Str* text_arg(Runtime& r, const Value* v) {
  return v && !v->is(Kind::none) ? &string_of(r, *v) : nullptr;
}
std::int64_t number_arg(Runtime& r, const Value* v, std::int64_t otherwise) {
  return v && !v->is(Kind::none) ? integer_of(r, *v) : otherwise;
}

template <Case how>
Value m_case(Runtime& r, const Value& self, Args&) {
  return change_case(r, *self.text, how);
}

template <bool Left, bool Right>
Value m_strip(Runtime& r, const Value& self, Args& a) {
  return strip(r, *self.text, a.get(0, ""), Left, Right);
}

Value m_replace(Runtime& r, const Value& self, Args& a) {
  const Value *from = a.get(0, ""), *to = a.get(1, ""), *count = a.get(2, "count");
  if (!from || !to) r.heap.fail("replace() needs 2 arguments, got {}", a.list.size());
  return replace(r, *self.text, string_of(r, *from), string_of(r, *to), number_arg(r, count, -1));
}

// The parts between separators, or between white space.
std::vector<TextRange> split_ranges(Runtime& r, const Str& s, const Str* separator,
                                    std::int64_t max_splits) {
  const std::string& text = s.text;
  std::vector<TextRange> parts;
  if (separator) {
    std::size_t at = 0;
    while (max_splits < 0 || static_cast<std::int64_t>(parts.size()) < max_splits) {
      const std::size_t next = find_text(text, separator->text, at);
      if (next == std::string::npos) break;
      r.heap.charge(sizeof(TextRange));
      parts.push_back({at, next});
      at = next + separator->text.size();
    }
    parts.push_back({at, text.size()});
    return parts;
  }
  std::size_t at = skip_spaces(text, 0);
  while (at < text.size()) {
    std::size_t end = at;
    if (max_splits >= 0 && static_cast<std::int64_t>(parts.size()) == max_splits) {
      end = trim_right(text).size();
    } else {
      while (end < text.size() && !is_space(decode_utf8(text, end).code))
        end += decode_utf8(text, end).length;
    }
    r.heap.charge(sizeof(TextRange));
    parts.push_back({at, end});
    at = skip_spaces(text, end);
  }
  return parts;
}

std::vector<TextRange> split_from_right(Runtime& r, const Str& s, const Str* separator,
                                        std::int64_t max_splits) {
  std::vector<TextRange> parts;
  const std::string_view text = s.text;
  std::size_t end = separator ? text.size() : trim_right(text).size();
  const auto enough = [&] {
    return max_splits >= 0 && static_cast<std::int64_t>(parts.size()) >= max_splits;
  };
  if (separator) {
    // Searches forwards in the reversed text.
    const std::string backwards(text.rbegin(), text.rend());
    const std::string part(separator->text.rbegin(), separator->text.rend());
    while (!enough()) {
      const std::size_t at = find_text(backwards, part, text.size() - end);
      if (at == std::string_view::npos) break;
      r.heap.charge(sizeof(TextRange));
      parts.push_back({text.size() - at, end});
      end = text.size() - at - part.size();
    }
    parts.push_back({0, end});
  } else {
    const std::size_t begin = skip_spaces(text, 0);
    while (end > begin) {
      std::size_t at = end;
      while (!enough() && at > begin) {
        std::size_t before = at - 1;
        while (before > begin && (text[before] & 0xC0) == 0x80) --before;
        if (is_space(decode_utf8(text, before).code)) break;
        at = before;
      }
      if (enough()) at = begin;
      r.heap.charge(sizeof(TextRange));
      parts.push_back({at, end});
      end = trim_right(text.substr(0, at)).size();
    }
  }
  std::ranges::reverse(parts);
  return parts;
}

template <bool Right>
Value m_split(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Str* separator = text_arg(r, a.get(0, "sep"));
  const std::int64_t max_splits = number_arg(r, a.get(1, "maxsplit"), -1);
  if (separator && separator->text.empty()) r.heap.fail("the separator must not be empty");
  std::vector<Value> parts;
  for (const TextRange& range : Right ? split_from_right(r, s, separator, max_splits)
                                      : split_ranges(r, s, separator, max_splits))
    parts.push_back(Value::from(r.heap.slice(s, range.begin, range.end)));
  return Value::from(r.heap.list(std::move(parts)));
}

Value m_splitlines(Runtime& r, const Value& self, Args& a) {
  const Value* keep = a.get(0, "keepends");
  std::vector<Value> lines;
  for (const TextRange& line : split_lines(r, *self.text, keep && truth(*keep)))
    lines.push_back(Value::from(r.heap.slice(*self.text, line.begin, line.end)));
  return Value::from(r.heap.list(std::move(lines)));
}

template <bool Right>
Value m_partition(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Str* separator = text_arg(r, a.get(0, ""));
  if (!separator) r.heap.fail("partition() needs a separator");
  if (separator->text.empty()) r.heap.fail("the separator must not be empty");
  const std::size_t at =
      Right ? rfind_text(s.text, separator->text) : find_text(s.text, separator->text);
  const auto part = [&](std::size_t begin, std::size_t end) {
    return Value::from(r.heap.slice(s, begin, end));
  };
  const std::size_t n = s.text.size(), after = at + separator->text.size();
  std::vector<Value> three;
  if (at != std::string::npos)
    three = {part(0, at), part(at, after), part(after, n)};
  else if (Right)
    three = {part(0, 0), part(0, 0), self};
  else
    three = {self, part(0, 0), part(0, 0)};
  return Value::from(r.heap.list(std::move(three), List::Type::tuple));
}

Value m_join(Runtime& r, const Value& self, Args& a) {
  const Value* all = a.get(0, "");
  if (!all) r.heap.fail("join() needs a list");
  TextBuilder out;
  std::size_t i = 0;
  for (const Value& item : iterate(r.heap, *all)) {
    if (!item.is(Kind::string))
      r.heap.fail("join: item {} must be a string, got {}", i, type_name(item));
    if (i++ > 0) out.add(*self.text);
    out.add(*item.text);
    r.heap.check_length(out.text.size());
  }
  return Value::from(r.heap.str(std::move(out)));
}

template <bool Prefix>
Value m_remove(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Str* part = text_arg(r, a.get(0, ""));
  if (!part) r.heap.fail("this method needs an argument");
  const std::size_t n = s.text.size(), k = part->text.size();
  if (Prefix && s.text.starts_with(part->text)) return Value::from(r.heap.slice(s, k, n));
  if (!Prefix && k > 0 && s.text.ends_with(part->text))
    return Value::from(r.heap.slice(s, 0, n - k));
  return self;
}

enum class Side { left, right, both };
template <Side side>
Value m_pad(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Value *width = a.get(0, ""), *fill = a.get(1, "");
  if (!width) r.heap.fail("this method needs an argument");
  const std::int64_t wide = integer_of(r, *width);
  if (wide <= static_cast<std::int64_t>(s.length)) return self;
  const std::int64_t n = wide - static_cast<std::int64_t>(s.length);
  const Value with = fill ? *fill : r.heap.text(" ");
  if (string_of(r, with).length != 1) r.heap.fail("the fill character must be a single character");
  const std::int64_t left = side == Side::left    ? 0
                            : side == Side::right ? n
                                                  : n / 2 + (n & wide & 1);
  TextBuilder out;
  out.add(*apply_operator(r, "*", with, Value::from(left)).text);
  out.add(s);
  out.add(*apply_operator(r, "*", with, Value::from(n - left)).text);
  return Value::from(r.heap.str(std::move(out)));
}

Value m_zfill(Runtime& r, const Value& self, Args& a) {
  const Str& s = *self.text;
  const Value* width = a.get(0, "");
  if (!width) r.heap.fail("zfill() needs a width");
  const std::int64_t wide = integer_of(r, *width);
  if (wide <= static_cast<std::int64_t>(s.length)) return self;
  const std::int64_t n = wide - static_cast<std::int64_t>(s.length);
  const std::size_t sign = !s.text.empty() && (s.text[0] == '-' || s.text[0] == '+') ? 1 : 0;
  TextBuilder out;
  out.add(s, 0, sign);
  out.add(*apply_operator(r, "*", r.heap.text("0"), Value::from(n)).text);
  out.add(s, sign, s.text.size());
  return Value::from(r.heap.str(std::move(out)));
}

Value m_expandtabs(Runtime& r, const Value& self, Args& a) {
  const std::int64_t size = number_arg(r, a.get(0, "tabsize"), 8);
  if (size > 1000) r.heap.fail("tabs are too wide");
  TextBuilder out;
  std::int64_t column = 0;
  const Str& s = *self.text;
  for (std::size_t at = 0; at < s.text.size();) {
    const std::size_t n = decode_utf8(s.text, at).length;
    if (s.text[at] == '\t') {
      const std::int64_t pad = size > 0 ? size - column % size : 0;
      out.add(spaces(r, pad));
      column += pad;
    } else {
      out.add(s, at, at + n);
      column = s.text[at] == '\n' || s.text[at] == '\r' ? 0 : column + 1;
    }
    at += n;
  }
  return Value::from(r.heap.str(std::move(out)));
}

constexpr NativeRow kStringMethods[] = {
    {"capitalize", m_case<Case::capitalize>},
    {"casefold", m_case<Case::fold>},
    {"center", m_pad<Side::both>},
    {"expandtabs", m_expandtabs, {NativeCost::Reads::all, 4}},
    {"format", format_braces},
    {"join", m_join},
    {"ljust", m_pad<Side::left>},
    {"lower", m_case<Case::lower>},
    {"lstrip", m_strip<true, false>},
    {"partition", m_partition<false>},
    {"removeprefix", m_remove<true>, kReadsArguments},
    {"removesuffix", m_remove<false>, kReadsArguments},
    {"replace", m_replace},
    {"rjust", m_pad<Side::right>},
    {"rpartition", m_partition<true>},
    {"rsplit", m_split<true>, {NativeCost::Reads::all, 2}},
    {"rstrip", m_strip<false, true>},
    {"split", m_split<false>, {NativeCost::Reads::all, 2}},
    {"splitlines", m_splitlines, {NativeCost::Reads::all, 3}},
    {"strip", m_strip<true, true>, {NativeCost::Reads::all, 2}},
    {"swapcase", m_case<Case::swap>},
    {"title", m_case<Case::title>},
    {"upper", m_case<Case::upper>},
    {"zfill", m_zfill},
};

}  // namespace

std::span<const NativeRow> string_methods() {
  // Both tables as one: built on first use.
  static const NoDestructor all([] {
    std::vector<NativeRow> rows(std::begin(kStringMethods), std::end(kStringMethods));
    rows.insert(rows.end(), string_search_methods().begin(), string_search_methods().end());
    return rows;
  }());
  return *all;
}

std::vector<TextRange> split_lines(Runtime& r, const Str& s, bool keep_ends) {
  std::vector<TextRange> lines;
  for (std::size_t at = 0, begin = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    std::size_t next = at + c.length;
    const bool ends = (c.code >= 10 && c.code <= 13) || (c.code >= 0x1C && c.code <= 0x1E) ||
                      c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
    if (c.code == '\r' && starts_at(s.text, next, "\n")) ++next;
    if (ends || next >= s.text.size()) {
      r.heap.charge(sizeof(TextRange));
      lines.push_back({begin, !ends || keep_ends ? next : at});
      begin = next;
    }
    at = next;
  }
  return lines;
}

Value strip(Runtime& r, const Str& s, const Value* chars, bool left, bool right) {
  std::size_t begin = 0, end = s.text.size();
  if (!chars || chars->is(Kind::none)) {
    if (left) begin = skip_spaces(s.text, 0);
    if (right) end = std::max(begin, trim_right(s.text).size());
    return Value::from(r.heap.slice(s, begin, end));
  }
  const std::string& set = string_of(r, *chars).text;
  const auto in_set = [&](std::size_t at) {
    const std::size_t n = decode_utf8(s.text, at).length;
    const std::string_view c = std::string_view(s.text).substr(at, n);
    const std::size_t found = set.find(c);
    r.heap.scan(set.size());
    return found != std::string::npos ? n : 0;
  };
  while (left && begin < end) {
    const std::size_t n = in_set(begin);
    if (n == 0) break;
    begin += n;
  }
  while (right && end > begin) {
    std::size_t before = end - 1;
    while (before > begin && (s.text[before] & 0xC0) == 0x80) --before;
    if (in_set(before) == 0) break;
    end = before;
  }
  return Value::from(r.heap.slice(s, begin, end));
}

Value replace(Runtime& r, const Str& s, const Str& from, const Str& to, std::int64_t count) {
  TextBuilder out;
  out.markup = s.markup;
  std::size_t plain = 0, at = 0;
  for (std::int64_t n = 0; count < 0 || n < count; ++n) {
    std::size_t found = 0, next = 0;
    if (from.text.empty()) {
      // Before every character and at the end.
      if (n > 0 && at >= s.text.size()) break;
      found = n == 0 ? 0 : at + decode_utf8(s.text, at).length;
      next = found;
    } else {
      found = find_text(s.text, from.text, at);
      if (found == std::string::npos) break;
      next = found + from.text.size();
    }
    out.add(s, plain, found);
    out.add(to);
    plain = at = next;
    r.heap.charge(to.text.size());
  }
  out.add(s, plain, s.text.size());
  return Value::from(r.heap.str(std::move(out)));
}

}  // namespace weft::jinja
