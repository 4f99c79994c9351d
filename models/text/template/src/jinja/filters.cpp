// Filters of texts, and of anything. Those of numbers are in number_filters.cpp, those of sequences
// in sequence_filters.cpp.
#include <algorithm>
#include <cctype>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

const Str& str(Runtime& r, const Value& v) {
  return *to_str(r.heap, v);
}
bool flag(Args& a, std::size_t place, std::string_view name, bool otherwise = false) {
  const Value* v = a.get(place, name);
  return v ? truth(*v) : otherwise;
}

Value f_string(Runtime& r, const Value& v, Args&) {
  return Value::from(&str(r, v));
}
template <Case how>
Value f_case(Runtime& r, const Value& v, Args&) {
  return change_case(r, str(r, v), how);
}

// Words begin after white space, hyphens and opening brackets here, unlike str.title().
Value f_title(Runtime& r, const Value& v, Args&) {
  const Str& s = str(r, v);
  TextBuilder out;
  bool start = true;
  for (std::size_t at = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    const Value part = Value::from(r.heap.slice(s, at, at + c.length));
    out.add(*change_case(r, *part.text, start ? Case::upper : Case::lower).text);
    start = is_space(c.code) ||
            (c.code < 0x80 &&
             std::string_view("-({[<").find(static_cast<char>(c.code)) != std::string::npos);
    at += c.length;
  }
  return Value::from(r.heap.str(std::move(out)));
}

Value f_trim(Runtime& r, const Value& v, Args& a) {
  return strip(r, str(r, v), a.get(0, "chars"), true, true);
}

Value f_replace(Runtime& r, const Value& v, Args& a) {
  const Value *from = a.get(0, "old"), *to = a.get(1, "new"), *count = a.get(2, "count");
  if (!from || !to) r.heap.fail("replace() needs what to replace and by what");
  return replace(r, str(r, v), str(r, *from), str(r, *to),
                 count && !count->is(Kind::none) ? integer_of(r, *count) : -1);
}

Value f_default(Runtime& r, const Value& v, Args& a) {
  const Value* otherwise = a.get(0, "default_value");
  const bool empty_too = flag(a, 1, "boolean");
  if (v.is(Kind::undefined) || (empty_too && !truth(v)))
    return otherwise ? *otherwise : r.heap.text("");
  return v;
}

Value f_safe(Runtime& r, const Value& v, Args&) {
  TextBuilder out;
  out.add(str(r, v));
  out.markup = true;
  return Value::from(r.heap.str(std::move(out)));
}
Value f_escape(Runtime& r, const Value& v, Args&) {
  if (v.is(Kind::string) && v.text->markup) return v;
  return escape_html(r, v);
}
Value f_forceescape(Runtime& r, const Value& v, Args&) {
  return escape_html(r, v);
}

Value f_indent(Runtime& r, const Value& v, Args& a) {
  const Str& s = str(r, v);
  const Value* width = a.get(0, "width");
  const bool first = flag(a, 1, "first"), blank = flag(a, 2, "blank");
  const std::string pad = width && width->is(Kind::string)
                              ? width->text->text
                              : spaces(r, width ? integer_of(r, *width) : 4);
  TextBuilder out;
  out.markup = s.markup;
  auto lines = split_lines(r, s, false);
  const bool ends = !lines.empty() && lines.back().end < s.text.size();
  if (ends || lines.empty()) lines.push_back({s.text.size(), s.text.size()});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto [begin, end] = lines[i];
    if (i > 0) out.add("\n");
    if (i == 0 ? first : (blank || end > begin)) out.add(pad);
    out.add(s, begin, end);
    r.heap.charge(pad.size());
  }
  return Value::from(r.heap.str(std::move(out)));
}

Value f_center(Runtime& r, const Value& v, Args& a) {
  const Str& s = str(r, v);
  const Value* width = a.get(0, "width");
  const std::int64_t wide = width ? integer_of(r, *width) : 80;
  const auto n = static_cast<std::int64_t>(s.length);
  if (wide <= n) return Value::from(&s);
  const std::int64_t pad = wide - n, left = pad / 2 + (pad & wide & 1);
  TextBuilder out;
  out.add(spaces(r, left));
  out.add(s);
  out.add(spaces(r, pad - left));
  return Value::from(r.heap.str(std::move(out)));
}

Value f_truncate(Runtime& r, const Value& v, Args& a) {
  const Str& s = str(r, v);
  const Value *given_length = a.get(0, "length"), *given_end = nullptr, *given_leeway = nullptr;
  const bool kill_words = flag(a, 1, "killwords");
  given_end = a.get(2, "end");
  given_leeway = a.get(3, "leeway");
  const std::int64_t length = given_length ? integer_of(r, *given_length) : 255;
  const Str& end = given_end ? str(r, *given_end) : *r.heap.str("...");
  const std::int64_t leeway =
      given_leeway && !given_leeway->is(Kind::none) ? integer_of(r, *given_leeway) : 5;
  const auto n = static_cast<std::int64_t>(s.length), n_end = static_cast<std::int64_t>(end.length);
  if (length < n_end) r.heap.fail("truncate: length must be at least {}, got {}", n_end, length);
  if (leeway < 0) r.heap.fail("truncate: the leeway must not be negative, got {}", leeway);
  if (n <= length || n - length <= leeway) return Value::from(&s);
  const std::int64_t keep = length - n_end;
  std::size_t cut = byte_of(r, s, static_cast<std::size_t>(keep));
  if (!kill_words) {
    const std::size_t space = s.text.rfind(' ', cut == 0 ? 0 : cut - 1);
    if (space != std::string::npos && space < cut) cut = space;
  }
  TextBuilder out;
  out.add(s, 0, cut);
  out.add(end);
  return Value::from(r.heap.str(std::move(out)));
}

Value f_wordcount(Runtime& r, const Value& v, Args&) {
  const Str& s = str(r, v);
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    const bool letter =
        c.code == '_' ||
        (c.code < 0x80 ? std::isalnum(static_cast<int>(c.code)) != 0 : !is_space(c.code));
    words += letter && !inside;
    inside = letter;
    at += c.length;
  }
  return Value::from(words);
}

Value f_urlencode(Runtime& r, const Value& v, Args&) {
  const auto encode = [&](const Value& value, std::string_view safe, std::string& out) {
    for (const char c : str(r, value).text) {
      if (c == ' ' && safe.find('/') == safe.npos)
        out += '+';
      else if (std::isalnum(static_cast<unsigned char>(c)) ||
               safe.find(c) != std::string_view::npos)
        out += c;
      else
        out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  };
  std::string out;
  const auto add_pair = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    encode(key, "_.-~", out);
    out += '=';
    encode(value, "_.-~", out);
  };
  if (v.is(Kind::dict)) {
    for (const auto& [key, value] : v.dict->items) add_pair(key, value);
  } else if (v.is(Kind::list)) {
    for (const Value& item : iterate(r.heap, v)) {
      const std::vector<Value> pair = iterate(r.heap, item);
      if (pair.size() != 2) r.heap.fail("urlencode: expected pairs, got {} items", pair.size());
      add_pair(pair[0], pair[1]);
    }
  } else {
    encode(v, "_.-~/", out);
  }
  TextBuilder built;
  built.add_foreign(out);
  return Value::from(r.heap.str(std::move(built)));
}

Value f_format(Runtime& r, const Value& v, Args& a) {
  if (!a.named.empty()) {
    Dict* named = r.heap.dict();
    for (auto& [name, value] : a.named) named->set(r.heap, r.heap.text(name), value);
    a.named.clear();
    return format_percent(r, str(r, v), Value::from(named));
  }
  const auto all = a.rest(0);
  return format_percent(r, str(r, v),
                        Value::from(r.heap.list({all.begin(), all.end()}, List::Type::tuple)));
}

Value f_tojson(Runtime& r, const Value& v, Args& a) {
  JsonStyle style;
  style.ensure_ascii = flag(a, 0, "ensure_ascii");
  const Value *indent = a.get(1, "indent"), *separators = a.get(2, "separators");
  style.sort_keys = flag(a, 3, "sort_keys");
  if (indent && !indent->is(Kind::none)) {
    style.indented = true;
    style.item_separator.assign(1, ',');
    if (indent->is(Kind::string)) {
      style.indent = indent->text->text;
    } else {
      const std::int64_t n = integer_of(r, *indent);
      if (n > 1000) r.heap.fail("tojson: an indent of {} is too wide", n);
      style.indent = spaces(r, n);
    }
    if (style.indent.size() > 1000) r.heap.fail("tojson: the indent is too wide");
  }
  if (separators && !separators->is(Kind::none)) {
    const std::vector<Value> two = iterate(r.heap, *separators);
    if (two.size() != 2) r.heap.fail("tojson: separators must be two");
    style.item_separator = string_of(r, two[0]).text;
    style.key_separator = string_of(r, two[1]).text;
  }
  TextBuilder out;
  to_json(r.heap, v, style, out);
  return Value::from(r.heap.str(std::move(out)));
}

Value f_from_json(Runtime& r, const Value& v, Args&) {
  const Str& text = string_of(r, v);
  try {
    return from_json(r.heap, "the text of from_json", text.text,
                     text.foreign.empty() ? Foreign::none : Foreign::all);
  } catch (const FormatError& e) {
    r.heap.fail("{}", e.what());
  }
}

Value f_attr(Runtime& r, const Value& v, Args& a) {
  const Value* name = a.get(0, "name");
  if (!name) r.heap.fail("attr() needs a name");
  // Only attributes: an item with that name does not count.
  const std::string& text = str(r, *name).text;
  if (v.is(Kind::dict) && !find_row(methods_of(v), text))
    return r.heap.undefined(fmt::format("the dict has no attribute '{}'", text));
  return attribute_of(r, v, text);
}

constexpr NativeRow kFilters[] = {
    {"attr", f_attr, kReadsArguments},
    {"capitalize", f_case<Case::capitalize>},
    {"center", f_center},
    {"d", f_default, kReadsNothing},
    {"default", f_default, kReadsNothing},
    {"e", f_escape},
    {"escape", f_escape},
    {"forceescape", f_forceescape},
    {"format", f_format},
    {"from_json", f_from_json},
    {"indent", f_indent, {NativeCost::Reads::all, 2}},
    {"lower", f_case<Case::lower>},
    {"replace", f_replace},
    {"safe", f_safe},
    {"string", f_string},
    {"title", f_title},
    {"tojson", f_tojson, {NativeCost::Reads::all, 2}},
    {"trim", f_trim, {NativeCost::Reads::all, 2}},
    {"truncate", f_truncate},
    {"upper", f_case<Case::upper>},
    {"urlencode", f_urlencode, {NativeCost::Reads::all, 12}},
    {"wordcount", f_wordcount},
};

}  // namespace

std::span<const NativeRow> filter_rows() {
  return kFilters;
}

const NativeRow* find_filter(std::string_view name) {
  for (const auto rows : {filter_rows(), number_filter_rows(), sequence_filter_rows()}) {
    if (const NativeRow* row = find_row(rows, name)) return row;
  }
  return nullptr;
}

Value escape_html(Runtime& r, const Value& v) {
  const Str& s = str(r, v);
  static constexpr std::string_view kFrom = "&<>'\"";
  static constexpr std::string_view kTo[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  TextBuilder out;
  out.markup = true;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < s.text.size(); ++at) {
    const std::size_t i = kFrom.find(s.text[at]);
    if (i == kFrom.npos) continue;
    out.add(s, plain, at);
    out.add(kTo[i]);
    plain = at + 1;
  }
  out.add(s, plain, s.text.size());
  return Value::from(r.heap.str(std::move(out)));
}

std::string spaces(Runtime& r, std::int64_t n) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  r.heap.charge(size);
  return std::string(size, ' ');
}

}  // namespace weft::jinja
