// Filters of numbers.
#include <charconv>
#include <cmath>
#include <optional>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

std::string_view stripped(std::string_view text) {
  text = trim_right(text);
  return text.substr(skip_spaces(text, 0));
}

// The decimal digits of all scripts as those of ASCII. Unicode has them in runs of ten, from 0
// to 9.
std::string with_ascii_digits(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    char32_t first = c.code;
    if (c.code >= 0x80 && is_decimal(c.code)) {
      while (is_decimal(first - 1)) --first;
      result += static_cast<char>('0' + (c.code - first) % 10);
    } else {
      result += text.substr(at, c.length);
    }
    at += c.length;
  }
  return result;
}

// Parses a number like Python: with surrounding spaces, a sign, '_' between digits.
std::string number_text(const Value& v) {
  std::string text = with_ascii_digits(stripped(v.text->text));
  std::erase(text, '_');
  if (text.starts_with('+') && !text.starts_with("+-")) text.erase(0, 1);
  return text;
}

// int(text, base); nullopt if the text is not a number.
std::optional<Value> whole_of(Runtime& r, std::string text, std::int64_t base) {
  if (base < 2 || base > 36) return std::nullopt;
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  if (prefix != '\0' && text.size() > sign + 2 && text[sign] == '0' &&
      (text[sign + 1] | 0x20) == prefix)
    text.erase(sign, 2);
  std::int64_t n = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, n, static_cast<int>(base));
  if (read.ec == std::errc::invalid_argument || read.ptr != end) return std::nullopt;
  if (read.ec == std::errc()) return Value::from(n);
  if (base != 10) r.heap.fail("the number does not fit 64 bits");
  return Value::from(r.heap.str(text), Kind::big);
}

Value f_int(Runtime& r, const Value& v, Args& a) {
  const Value *otherwise = a.get(0, "default"), *base = a.get(1, "base");
  const Value fallback = otherwise ? *otherwise : Value::from(std::int64_t{0});
  if (v.is(Kind::integer) || v.is(Kind::big)) return v;
  if (v.is(Kind::boolean)) return Value::from(static_cast<std::int64_t>(v.boolean));
  std::optional<double> d;
  if (v.is(Kind::real)) d = v.real;
  if (v.is(Kind::string)) {
    const std::string text = number_text(v);
    if (const auto n = whole_of(r, text, base ? integer_of(r, *base) : 10)) return *n;
    d = read_real(text);
  }
  if (!d || !std::isfinite(*d)) return fallback;
  return Value::from(truncated(r, *d));
}

Value f_float(Runtime& r, const Value& v, Args& a) {
  const Value* otherwise = a.get(0, "default");
  const Value fallback = otherwise ? *otherwise : Value::from(0.0);
  if (v.is_number()) return Value::from(real(r, v));
  if (!v.is(Kind::string) && !v.is(Kind::big)) return fallback;
  const std::optional<double> d = read_real(number_text(v));
  return d ? Value::from(*d) : fallback;
}

Value f_abs(Runtime& r, const Value& v, Args&) {
  if (v.is(Kind::real)) return Value::from(std::abs(v.real));
  const std::int64_t i = integer_of(r, v);
  return i < 0 ? apply_operator(r, "-", Value::from(std::int64_t{0}), Value::from(i))
               : Value::from(i);
}

Value f_round(Runtime& r, const Value& v, Args& a) {
  const Value *given = a.get(0, "precision"), *method = a.get(1, "method");
  const std::int64_t precision = given ? integer_of(r, *given) : 0;
  const std::string_view how = method ? std::string_view(string_of(r, *method).text) : "common";
  if (how != "common" && how != "ceil" && how != "floor")
    r.heap.fail("round: unknown method '{}'", how);
  if (v.is(Kind::undefined)) fail_undefined(r, v);
  if (!v.is_number()) r.heap.fail("round: expected a number, got {}", type_name(v));
  const double d = real(r, v);
  if (how == "common") {
    if (!v.is(Kind::real) && precision >= 0) return v;
    if (!std::isfinite(d) || precision > 300 || precision < -300) return Value::from(d);
    if (precision >= 0) {
      // Decimal digits of the exact value, ties to even, as in printing.
      return Value::from(std::stod(fmt::format("{:.{}f}", d, precision)));
    }
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    const double rounded = std::nearbyint(d / scale) * scale;
    return v.is(Kind::real) ? Value::from(rounded) : Value::from(truncated(r, rounded));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  // Python's ceil and floor return integers, which have no -0.
  return Value::from((how == "ceil" ? std::ceil(d * scale) : std::floor(d * scale)) / scale + 0.0);
}

Value f_filesizeformat(Runtime& r, const Value& v, Args& a) {
  const Value* given_binary = a.get(0, "binary");
  const bool binary = given_binary && truth(*given_binary);
  const std::optional<double> given = v.is(Kind::string) ? read_real(number_text(v)) : real(r, v);
  if (!given) r.heap.fail("not a number: {}", repr(r.heap, v));
  const double bytes = *given;
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return r.heap.text("1 Byte");
  if (bytes < base) return r.heap.text(fmt::format("{:.0f} Bytes", std::trunc(bytes)));
  static constexpr std::string_view kUnits = "kMGTPEZY";
  double unit = base;
  for (std::size_t i = 0;; ++i, unit *= base) {
    if (bytes < unit * base || i + 1 == kUnits.size())
      return r.heap.text(fmt::format("{:.1f} {}{}", bytes / unit,
                                     binary && i == 0 ? 'K' : kUnits[i], binary ? "iB" : "B"));
  }
}

constexpr NativeRow kNumberFilters[] = {
    {"abs", f_abs},
    {"filesizeformat", f_filesizeformat},
    {"float", f_float, {NativeCost::Reads::all, 2}},
    {"int", f_int, {NativeCost::Reads::all, 2}},
    {"round", f_round},
};

}  // namespace

std::span<const NativeRow> number_filter_rows() {
  return kNumberFilters;
}

std::int64_t truncated(Runtime& r, double d) {
  if (std::isnan(d)) r.heap.fail("NaN has no integer value");
  if (!(d >= -0x1p63 && d < 0x1p63)) r.heap.fail("the number does not fit 64 bits");
  return static_cast<std::int64_t>(d);
}

}  // namespace weft::jinja
