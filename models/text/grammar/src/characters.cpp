#include "characters.h"

#include <algorithm>
#include <utility>

namespace weft::grammar {
namespace {

// Characters up to `last` have `continuations` bytes after the first one, which begins with `mark`.
struct Utf8Form {
  char32_t last;
  int continuations;
  std::uint8_t mark;
};
constexpr Utf8Form kUtf8Forms[] = {
    {0x7F, 0, 0x00}, {0x7FF, 1, 0xC0}, {0xFFFF, 2, 0xE0}, {kMaxCodePoint, 3, 0xF0}};

// UTF-8 of characters of one form as rows of (first byte, bits that follow): ranges are split until
// all continuation bytes but the last ones are either equal or free.
class Utf8Rows {
 public:
  Utf8Rows(GrammarBuilder& builder, const Utf8Form& form, StateId to)
      : b_(builder), form_(form), to_(to) {}

  // Writes lo .. hi, of which the last `depth` + 1 bytes are still to come.
  void write(StateId at, char32_t lo, char32_t hi, int depth) {
    if (depth == 0) return b_.byte(at, lead(lo, 0), lead(hi, 0), to_);
    const int shift = 6 * depth;
    const char32_t low = (char32_t{1} << shift) - 1;
    if ((lo >> shift) == (hi >> shift)) return write_part(at, lo, hi, depth);
    if ((lo & low) != 0) {
      write_part(at, lo, lo | low, depth);
      lo = (lo | low) + 1;
    }
    const bool ragged = (hi & low) != low;
    const char32_t whole = ragged ? (hi & ~low) : hi + 1;  // the first one after the free part
    if (whole > lo) {
      const StateId next = b_.state();
      b_.byte(at, lead(lo, depth), lead(whole - 1, depth), next);
      write(next, 0, low, depth - 1);
    }
    if (ragged) write_part(at, whole, hi, depth);
  }

 private:
  // A range whose characters share the next byte.
  void write_part(StateId at, char32_t lo, char32_t hi, int depth) {
    const char32_t low = (char32_t{1} << 6 * depth) - 1;
    const StateId next = b_.state();
    b_.byte(at, lead(lo, depth), lead(hi, depth), next);
    write(next, lo & low, hi & low, depth - 1);
  }
  // The byte that is followed by `depth` others.
  std::uint8_t lead(char32_t code, int depth) const {
    const char32_t bits = code >> 6 * depth;
    return static_cast<std::uint8_t>(depth == form_.continuations ? form_.mark | bits
                                                                  : 0x80 | (bits & 0x3F));
  }

  GrammarBuilder& b_;
  const Utf8Form& form_;
  const StateId to_;
};

void utf8_range(GrammarBuilder& builder, StateId from, char32_t lo, char32_t hi, StateId to) {
  for (const Utf8Form& form : kUtf8Forms) {
    if (lo > hi) return;
    if (lo > form.last) continue;
    const char32_t end = std::min(hi, form.last);
    Utf8Rows(builder, form, to).write(from, lo, end, form.continuations);
    lo = end + 1;
  }
}

// Hexadecimal numbers lo .. hi with a fixed number of digits, in either case.
void hex_range(GrammarBuilder& builder, StateId from, std::uint32_t lo, std::uint32_t hi,
               int digits, StateId to) {
  const auto edge = [&](std::uint32_t a, std::uint32_t b, StateId next) {
    if (a < 10)
      builder.byte(from, static_cast<std::uint8_t>('0' + a),
                   static_cast<std::uint8_t>('0' + std::min(b, 9U)), next);
    if (b < 10) return;
    const std::uint32_t first = std::max(a, 10U) - 10;
    for (const char ten : {'a', 'A'})
      builder.byte(from, static_cast<std::uint8_t>(static_cast<std::uint32_t>(ten) + first),
                   static_cast<std::uint8_t>(static_cast<std::uint32_t>(ten) + b - 10), next);
  };
  if (digits == 1) return edge(lo, hi, to);
  const int shift = 4 * (digits - 1);
  const std::uint32_t low = (1U << shift) - 1;
  while (lo <= hi) {
    const std::uint32_t digit = lo >> shift;
    const StateId next = builder.state();
    if ((lo & low) == 0 && (lo | low) < hi) {  // as many whole digits as there are
      const std::uint32_t last = ((hi & low) == low ? hi >> shift : (hi >> shift) - 1);
      edge(digit, last, next);
      hex_range(builder, next, 0, low, digits - 1, to);
      lo = (last + 1) << shift;
    } else {
      const std::uint32_t end = std::min(hi, lo | low);
      edge(digit, digit, next);
      hex_range(builder, next, lo & low, end & low, digits - 1, to);
      lo = end + 1;
    }
  }
}

void json_escapes(GrammarBuilder& builder, StateId from, const CodePoints& set, StateId to) {
  static constexpr std::pair<char32_t, char> kShort[] = {
      {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
  CodePoints coded = set.intersected({0, 0x1F});
  coded.add(set.intersected({0x80, 0xD7FF}));
  coded.add(set.intersected({0xE000, 0xFFFF}));
  const CodePoints pairs = set.intersected({0x10000, kMaxCodePoint});
  const StateId escape = builder.state();
  builder.byte(from, '\\', '\\', escape);
  for (const auto& [code, letter] : kShort)
    if (set.contains(code))
      builder.byte(escape, static_cast<std::uint8_t>(letter), static_cast<std::uint8_t>(letter),
                   to);
  if (coded.empty() && pairs.empty()) return;
  const StateId hex = builder.state();
  builder.byte(escape, 'u', 'u', hex);
  for (const CodeRange& range : coded.ranges()) hex_range(builder, hex, range.lo, range.hi, 4, to);
  for (CodeRange range : pairs.ranges()) {
    range.lo -= 0x10000, range.hi -= 0x10000;
    const auto part = [&](char32_t lo, char32_t hi, char32_t low_from, char32_t low_to) {
      const StateId slash = builder.state(), u = builder.state(), second = builder.state();
      hex_range(builder, hex, 0xD800 + lo, 0xD800 + hi, 4, slash);
      builder.byte(slash, '\\', '\\', u);
      builder.byte(u, 'u', 'u', second);
      hex_range(builder, second, 0xDC00 + low_from, 0xDC00 + low_to, 4, to);
    };
    char32_t a = range.lo >> 10;
    const char32_t b = range.hi >> 10;
    if (a == b) {
      part(a, a, range.lo & 0x3FF, range.hi & 0x3FF);
      continue;
    }
    if ((range.lo & 0x3FF) != 0) part(a, a, range.lo & 0x3FF, 0x3FF), ++a;
    const bool ragged = (range.hi & 0x3FF) != 0x3FF;
    if (ragged) part(b, b, 0, range.hi & 0x3FF);
    const char32_t last = ragged ? b - 1 : b;
    if (a <= last) part(a, last, 0, 0x3FF);
  }
}

}  // namespace

void add_character(GrammarBuilder& builder, StateId from, const CodePoints& set, StateId to) {
  for (const CodeRange& range : set.ranges()) {
    if (range.lo < 0xD800)
      utf8_range(builder, from, range.lo, std::min<char32_t>(range.hi, 0xD7FF), to);
    if (range.hi > 0xDFFF)
      utf8_range(builder, from, std::max<char32_t>(range.lo, 0xE000), range.hi, to);
  }
}

void add_json_character(GrammarBuilder& builder, StateId from, const CodePoints& set, StateId to) {
  CodePoints plain = set.intersected({0x20, kMaxCodePoint});
  plain = plain.intersected(CodePoints::of("\"\\").inverted());
  add_character(builder, from, plain, to);
  CodePoints escaped = CodePoints(0x80, kMaxCodePoint);
  escaped.add(0, 0x1F);
  escaped.add(CodePoints::of("\"\\"));
  if (!set.intersected(escaped).empty()) json_escapes(builder, from, set, to);
}

}  // namespace weft::grammar
