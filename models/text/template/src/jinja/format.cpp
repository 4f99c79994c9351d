// Python's two ways to format values: the operator % and str.format.
#include <algorithm>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

// A format such as "-08.3f": the part between % or : and the letter.
struct Spec {
  char32_t fill = ' ';
  char align = '\0', sign = '-', type = '\0';
  bool alternate = false, comma = false;
  std::int64_t width = 0, precision = -1;
};

// Reads digits; limited, because a width allocates memory.
std::int64_t digits(Runtime& r, std::string_view text, std::size_t& at) {
  std::int64_t n = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    n = n * 10 + (text[at++] - '0');
    if (n > 100'000) r.heap.fail("a format's width is more than 100000");
  }
  return n;
}

std::string number_text(Runtime& r, const Spec& spec, const Value& v) {
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    double d = real(r, v);
    if (spec.type == '%') d *= 100;
    const int precision =
        static_cast<int>(std::min<std::int64_t>(spec.precision < 0 ? 6 : spec.precision, 400));
    switch (spec.type) {
      case 'e':
        return fmt::format("{:.{}e}", d, precision);
      case 'E':
        return fmt::format("{:.{}E}", d, precision);
      case 'g':
        return fmt::format("{:.{}g}", d, precision);
      case 'G':
        return fmt::format("{:.{}G}", d, precision);
      default:
        return fmt::format("{:.{}f}", d, precision) + (spec.type == '%' ? "%" : "");
    }
  }
  const std::int64_t i = v.is(Kind::real) ? truncated(r, v.real) : integer_of(r, v);
  switch (spec.type) {
    case 'x':
      return spec.alternate ? fmt::format("{:#x}", i) : fmt::format("{:x}", i);
    case 'X':
      return spec.alternate ? fmt::format("{:#X}", i) : fmt::format("{:X}", i);
    case 'o':
      return fmt::format("{:o}", i);
    case 'b':
      return spec.alternate ? fmt::format("{:#b}", i) : fmt::format("{:b}", i);
    default:
      return std::to_string(i);
  }
}

// 1234567.5 as 1,234,567.5.
std::string with_commas(std::string_view text) {
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  std::string out(text.substr(0, begin));
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin && (end - i) % 3 == 0) out += ',';
    out += text[i];
  }
  return out.append(text.substr(end));
}

bool has_number_format(const Spec& spec, const Value& v) {
  return v.is_number() && spec.type != 's' && spec.type != 'r';
}

// The value as text.
const Str& formatted(Runtime& r, const Spec& spec, const Value& v) {
  const bool number = has_number_format(spec, v);
  TextBuilder body;
  if (number && (spec.type != '\0' || spec.precision >= 0 || spec.comma || spec.sign != '-')) {
    Spec exact = spec;
    if (exact.type == '\0') exact.type = v.is(Kind::real) ? (spec.precision >= 0 ? 'g' : 's') : 'd';
    std::string text = exact.type == 's' ? to_str(r.heap, v)->text : number_text(r, exact, v);
    if (spec.comma) text = with_commas(text);
    if (spec.sign != '-' && text[0] != '-') text = fmt::format("{}{}", spec.sign, text);
    body.add(text);
  } else if (spec.type == 'r') {
    repr(r.heap, v, body, 0);
  } else {
    const Str& s = *to_str(r.heap, v);
    const std::size_t end = spec.precision >= 0 && !number
                                ? byte_of(r, s, static_cast<std::size_t>(spec.precision))
                                : s.text.size();
    body.add(s, 0, end);
  }
  return *r.heap.str(std::move(body));
}

void add_padded(Runtime& r, const Spec& spec, const Str& s, char align, TextBuilder& out) {
  const std::int64_t pad =
      std::max<std::int64_t>(spec.width - static_cast<std::int64_t>(s.length), 0);
  const bool sign_first = align == '=' && !s.text.empty() &&
                          std::string_view("+- ").find(s.text[0]) != std::string_view::npos;
  const std::size_t sign = sign_first ? 1 : 0;
  const std::int64_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
  std::string fill;
  append_utf8(spec.fill, fill);
  r.heap.charge(static_cast<std::size_t>(pad) * fill.size());
  out.add(s, 0, sign);
  for (std::int64_t i = 0; i < left; ++i) out.add(fill);
  out.add(s, sign, s.text.size());
  for (std::int64_t i = left; i < pad; ++i) out.add(fill);
}

// The value as text, padded.
void add_formatted(Runtime& r, const Spec& spec, const Value& v, TextBuilder& out) {
  if (spec.type == 'c' && v.is(Kind::integer)) {
    if (v.integer < 0 || v.integer > 0x10FFFF || (v.integer >= 0xD800 && v.integer < 0xE000))
      r.heap.fail("%c: not a Unicode code point");
    std::string one;
    append_utf8(static_cast<char32_t>(v.integer), one);
    return out.add(one);
  }
  const bool number = has_number_format(spec, v);
  if (!number && spec.type != '\0' &&
      std::string_view("src").find(spec.type) == std::string_view::npos)
    r.heap.fail("format type '{}' does not apply to a value of type {}", spec.type, type_name(v));
  const char align = spec.align != '\0' ? spec.align : number ? '>' : '<';
  add_padded(r, spec, formatted(r, spec, v), align, out);
}

Spec brace_spec(Runtime& r, std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [&](std::size_t i) {
    return i < text.size() && std::string_view("<>=^").find(text[i]) != std::string_view::npos;
  };
  if (!text.empty()) {
    const Utf8Char c = decode_utf8(text, 0);
    if (is_align(c.length)) {
      spec.fill = c.code;
      spec.align = text[c.length];
      at = c.length + 1;
    } else if (is_align(0)) {
      spec.align = text[at++];
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == ' ' || text[at] == '-'))
    spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = true, ++at;
  if (at < text.size() && text[at] == '0' && spec.align == '\0')
    spec.fill = '0', spec.align = '=', ++at;
  spec.width = digits(r, text, at);
  if (at < text.size() && text[at] == ',') spec.comma = true, ++at;
  if (at < text.size() && text[at] == '.') spec.precision = digits(r, text, ++at);
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size() ||
      std::string_view("bdeEfFgGnosxX%").find(spec.type) == std::string_view::npos)
    if (spec.type != '\0') r.heap.fail("malformed format specification");
  return spec;
}

// Parses the part between % and its letter, including the letter.
Spec percent_spec(Runtime& r, std::string_view text, std::size_t& at) {
  Spec spec;
  for (; at < text.size() && std::string_view("-+ 0#").find(text[at]) != text.npos; ++at) {
    if (text[at] == '-') spec.align = '<';
    if (text[at] == '+' || text[at] == ' ') spec.sign = text[at];
    if (text[at] == '0' && spec.align != '<') spec.fill = '0', spec.align = '=';
    if (text[at] == '#') spec.alternate = true;
  }
  if (spec.align == '<') spec.fill = ' ';
  if (spec.align == '\0') spec.align = '>';
  spec.width = digits(r, text, at);
  if (at < text.size() && text[at] == '.') spec.precision = digits(r, text, ++at);
  if (at >= text.size()) r.heap.fail("the format ends after '%'");
  spec.type = text[at++];
  if (std::string_view("cdeEfFgGiosuxXra").find(spec.type) == std::string_view::npos)
    r.heap.fail("unknown conversion after '%'");
  if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
  if (spec.type == 'a') spec.type = 'r';
  return spec;
}

// The value of "(name)", which begins at `at`.
Value named_value(Runtime& r, const Value& args, std::string_view text, std::size_t& at) {
  const std::size_t end = text.find(')', at);
  if (end == std::string_view::npos) r.heap.fail("the key of this format is not closed");
  if (!args.is(Kind::dict)) r.heap.fail("a format with keys needs a dict");
  const std::string_view name = text.substr(at + 1, end - at - 1);
  const Value* found = args.dict->find(name);
  if (!found) r.heap.fail("'{}'", name);
  at = end + 1;
  return *found;
}

// Removes what follows the name of a field: !r and :08.3f.
Spec take_spec(Runtime& r, std::string_view& field) {
  Spec spec;
  if (const std::size_t colon = field.find(':'); colon != std::string_view::npos) {
    spec = brace_spec(r, field.substr(colon + 1));
    field = field.substr(0, colon);
  }
  if (field.ends_with("!r")) spec.type = 'r';
  field = field.substr(0, field.find('!'));
  return spec;
}

// Resolves ".a[0].b" of a field.
Value look_into(Runtime& r, Value value, std::string_view path) {
  while (!path.empty()) {
    const bool item = path[0] == '[';
    if (!item && path[0] != '.') r.heap.fail("after ']' a format field continues with '.' or '['");
    const std::size_t end = item ? path.find(']') : path.find_first_of(".[", 1);
    if (item && end == path.npos) r.heap.fail("a format field is not closed");
    value = follow(r, value, r.heap.text(path.substr(1, end == path.npos ? end : end - 1)));
    path.remove_prefix(std::min(item ? end + 1 : end, path.size()));
  }
  return value;
}

}  // namespace

Value format_percent(Runtime& r, const Str& format, const Value& args) {
  const bool tuple = args.is(Kind::list) && args.list->type == List::Type::tuple;
  const std::vector<Value> all = tuple ? args.list->items : std::vector{args};
  std::size_t next = 0;
  bool by_name = false;
  r.heap.work(format.text.size());
  TextBuilder out;
  out.markup = format.markup;
  const std::string_view text = format.text;
  for (std::size_t at = 0, plain = 0;; plain = at) {
    at = std::min(text.find('%', plain), text.size());
    out.add(format, plain, at);
    if (at++ >= text.size()) break;
    if (at < text.size() && text[at] == '%') {
      out.add("%");
      ++at;
      continue;
    }
    const bool named = at < text.size() && text[at] == '(';
    by_name |= named;
    Value v = named ? named_value(r, args, text, at) : Value();
    const Spec spec = percent_spec(r, text, at);
    if (!named) {
      if (next >= all.size()) r.heap.fail("the format has more fields than there are arguments");
      v = all[next++];
    }
    if (spec.type != 's' && spec.type != 'r' && spec.type != 'c' && !v.is_number())
      r.heap.fail("%{} needs a number, got {}", spec.type, type_name(v));
    add_formatted(r, spec, v, out);
    r.heap.step();
  }
  // Values that can be indexed by a key (for Python this includes lists) may be left unused.
  const bool keyed = args.is(Kind::dict) || (args.is(Kind::list) && !tuple);
  if (!by_name && next < all.size() && !keyed)
    r.heap.fail("the format has fewer fields than there are arguments");
  return Value::from(r.heap.str(std::move(out)));
}

Value format_braces(Runtime& r, const Value& self, Args& a) {
  const Str& format = *self.text;
  const std::string_view text = format.text;
  std::size_t next = 0;
  TextBuilder out;
  const auto named = std::exchange(a.named, {});
  const auto argument = [&](std::string_view name) -> Value {
    if (name.find_first_not_of("0123456789") == name.npos) {
      std::size_t digit = 0;
      const auto i = name.empty() ? next++ : static_cast<std::size_t>(digits(r, name, digit));
      if (i < a.list.size()) return a.list[i];
      r.heap.fail("the format refers to argument {}, which is not given", i);
    }
    r.heap.step(1 + named.size() / 16);
    const auto found = std::ranges::find(named, name, [](const auto& n) { return n.first; });
    if (found == named.end()) r.heap.fail("'{}'", name);
    return found->second;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
    out.add(format, at, brace);
    at = brace;
    if (at >= text.size()) break;
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      out.add(text.substr(at, 1));
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string_view::npos)
      r.heap.fail("unmatched '{}' in a format", text[at]);
    std::string_view field = text.substr(at + 1, end - at - 1);
    at = end + 1;
    const Spec spec = take_spec(r, field);
    const std::size_t path = std::min(field.find_first_of(".["), field.size());
    add_formatted(r, spec, look_into(r, argument(field.substr(0, path)), field.substr(path)), out);
  }
  a.rest(0);
  return Value::from(r.heap.str(std::move(out)));
}

}  // namespace weft::jinja
