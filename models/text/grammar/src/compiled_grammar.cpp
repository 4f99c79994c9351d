#include "compiled_grammar.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::grammar {
namespace {

// States and edges of one program. The largest schemas in use need some hundred thousand.
constexpr std::size_t kMaxSize = 8'000'000;
// Longer repetitions are built from shorter ones.
constexpr std::uint64_t kChunk = 64;

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

  // Writes the last `depth` + 1 bytes of lo .. hi.
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

}  // namespace

RuleId GrammarBuilder::add_rule(std::string name) {
  count_one();
  rules_.push_back({std::move(name), {0, 0}, false});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId GrammarBuilder::add_rule(std::string name, Piece body) {
  const RuleId rule = add_rule(std::move(name));
  define(rule, body);
  return rule;
}

void GrammarBuilder::define(RuleId rule, Piece body) {
  rules_[rule].body = body;
  rules_[rule].defined = true;
}

void GrammarBuilder::count_one() {
  if (++size_ > kMaxSize)
    fail<BudgetError>("the grammar needs more than {} states and edges", kMaxSize);
}

StateId GrammarBuilder::state() {
  count_one();
  return n_states_++;
}

Piece GrammarBuilder::piece() {
  const StateId in = state();
  return {in, state()};
}

void GrammarBuilder::skip(StateId from, StateId to) {
  count_one();
  skips_.push_back({from, to});
}

void GrammarBuilder::byte(StateId from, std::uint8_t lo, std::uint8_t hi, StateId to) {
  count_one();
  bytes_.push_back({from, {lo, hi, to}});
}

void GrammarBuilder::call(StateId from, RuleId rule, StateId to) {
  count_one();
  calls_.push_back({from, {rule, to}});
}

void GrammarBuilder::token(StateId from, std::int32_t id, bool negated, StateId to) {
  count_one();
  tokens_.push_back({from, {id, negated, to}});
}

void GrammarBuilder::text(StateId from, std::string_view bytes, StateId to) {
  if (bytes.empty()) return skip(from, to);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const StateId next = i + 1 == bytes.size() ? to : state();
    const auto b = static_cast<std::uint8_t>(bytes[i]);
    byte(from, b, b, next);
    from = next;
  }
}

void GrammarBuilder::utf8_range(StateId from, char32_t lo, char32_t hi, StateId to) {
  for (const Utf8Form& form : kUtf8Forms) {
    if (lo > hi) return;
    if (lo > form.last) continue;
    const char32_t end = std::min(hi, form.last);
    Utf8Rows(*this, form, to).write(from, lo, end, form.continuations);
    lo = end + 1;
  }
}

void GrammarBuilder::character(StateId from, const CodePoints& set, StateId to) {
  for (const CodeRange& range : set.ranges()) {
    if (range.lo < 0xD800) utf8_range(from, range.lo, std::min<char32_t>(range.hi, 0xD7FF), to);
    if (range.hi > 0xDFFF) utf8_range(from, std::max<char32_t>(range.lo, 0xE000), range.hi, to);
  }
}

// Hexadecimal numbers lo .. hi with a fixed number of digits, in either case.
void GrammarBuilder::hex_range(StateId from, std::uint32_t lo, std::uint32_t hi, int digits,
                               StateId to) {
  const auto edge = [&](std::uint32_t a, std::uint32_t b, StateId next) {
    if (a < 10)
      byte(from, static_cast<std::uint8_t>('0' + a),
           static_cast<std::uint8_t>('0' + std::min(b, 9U)), next);
    if (b < 10) return;
    const std::uint32_t first = std::max(a, 10U) - 10;
    for (const char ten : {'a', 'A'})
      byte(from, static_cast<std::uint8_t>(static_cast<std::uint32_t>(ten) + first),
           static_cast<std::uint8_t>(static_cast<std::uint32_t>(ten) + b - 10), next);
  };
  if (digits == 1) return edge(lo, hi, to);
  const int shift = 4 * (digits - 1);
  const std::uint32_t low = (1U << shift) - 1;
  while (lo <= hi) {
    const std::uint32_t digit = lo >> shift;
    const StateId next = state();
    if ((lo & low) == 0 && (lo | low) < hi) {  // all whole digits
      const std::uint32_t last = ((hi & low) == low ? hi >> shift : (hi >> shift) - 1);
      edge(digit, last, next);
      hex_range(next, 0, low, digits - 1, to);
      lo = (last + 1) << shift;
    } else {
      const std::uint32_t end = std::min(hi, lo | low);
      edge(digit, digit, next);
      hex_range(next, lo & low, end & low, digits - 1, to);
      lo = end + 1;
    }
  }
}

void GrammarBuilder::json_escapes(StateId from, const CodePoints& set, StateId to) {
  static constexpr std::pair<char32_t, char> kShort[] = {
      {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
  CodePoints coded = set.intersected({0, 0x1F});
  coded.add(set.intersected({0x80, 0xD7FF}));
  coded.add(set.intersected({0xE000, 0xFFFF}));
  const CodePoints pairs = set.intersected({0x10000, kMaxCodePoint});
  const StateId escape = state();
  byte(from, '\\', '\\', escape);
  for (const auto& [code, letter] : kShort)
    if (set.contains(code))
      byte(escape, static_cast<std::uint8_t>(letter), static_cast<std::uint8_t>(letter), to);
  if (coded.empty() && pairs.empty()) return;
  const StateId hex = state();
  byte(escape, 'u', 'u', hex);
  for (const CodeRange& range : coded.ranges()) hex_range(hex, range.lo, range.hi, 4, to);
  for (CodeRange range : pairs.ranges()) {
    range.lo -= 0x10000, range.hi -= 0x10000;
    const auto part = [&](char32_t lo, char32_t hi, char32_t low_from, char32_t low_to) {
      const StateId slash = state(), u = state(), second = state();
      hex_range(hex, 0xD800 + lo, 0xD800 + hi, 4, slash);
      byte(slash, '\\', '\\', u);
      byte(u, 'u', 'u', second);
      hex_range(second, 0xDC00 + low_from, 0xDC00 + low_to, 4, to);
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

void GrammarBuilder::json_character(StateId from, const CodePoints& set, StateId to) {
  CodePoints plain = set.intersected({0x20, kMaxCodePoint});
  plain = plain.intersected(CodePoints::of("\"\\").inverted());
  character(from, plain, to);
  CodePoints escaped = CodePoints(0x80, kMaxCodePoint);
  escaped.add(0, 0x1F);
  escaped.add(CodePoints::of("\"\\"));
  if (!set.intersected(escaped).empty()) json_escapes(from, set, to);
}

Piece GrammarBuilder::call(RuleId rule) {
  const Piece p = piece();
  call(p.in, rule, p.out);
  return p;
}

Piece GrammarBuilder::chain(Piece a, Piece b) {
  skip(a.out, b.in);
  return {a.in, b.out};
}

Piece GrammarBuilder::optional(Piece inner) {
  const Piece p = piece();
  skip(p.in, inner.in);
  skip(inner.out, p.out);
  skip(p.in, p.out);
  return p;
}

Piece GrammarBuilder::plus(Piece inner) {
  const Piece p = piece();
  skip(p.in, inner.in);
  skip(inner.out, inner.in);
  skip(inner.out, p.out);
  return p;
}

Piece GrammarBuilder::star(Piece inner) {
  return optional(plus(inner));
}

Piece GrammarBuilder::exactly(RuleId rule, std::uint64_t n) {
  if (n > kChunk) {
    const RuleId chunk = add_rule(name(rule), exactly(rule, kChunk));
    return chain(exactly(chunk, n / kChunk), exactly(rule, n % kChunk));
  }
  const StateId in = state();
  StateId at = in;
  for (std::uint64_t i = 0; i < n; ++i) {
    const StateId next = state();
    call(at, rule, next);
    at = next;
  }
  return {in, at};
}

Piece GrammarBuilder::up_to(RuleId rule, std::uint64_t n) {
  const Piece p = piece();
  if (n <= kChunk) {
    StateId at = p.in;
    for (std::uint64_t i = 0; i < n; ++i) {
      skip(at, p.out);
      const StateId next = state();
      call(at, rule, next);
      at = next;
    }
    skip(at, p.out);
    return p;
  }
  // Fewer than all whole chunks and a beginning of one more, or all of them and the rest.
  const RuleId chunk = add_rule(name(rule), exactly(rule, kChunk));
  const Piece fewer = chain(up_to(chunk, n / kChunk - 1), up_to(rule, kChunk - 1));
  const Piece all = chain(exactly(chunk, n / kChunk), up_to(rule, n % kChunk));
  for (const Piece& part : {fewer, all}) {
    skip(p.in, part.in);
    skip(part.out, p.out);
  }
  return p;
}

Piece GrammarBuilder::repeat(RuleId rule, std::uint64_t min, std::uint64_t max) {
  const Piece first = exactly(rule, min);
  const Piece rest = max == kUnbounded ? star(call(rule)) : up_to(rule, max - min);
  return chain(first, rest);
}

}  // namespace weft::grammar
