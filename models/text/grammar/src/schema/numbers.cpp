#include "schema/numbers.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::grammar {
namespace {

constexpr std::string_view kPlain = "-.0123456789";
constexpr std::size_t kMaxDigits = 400;
constexpr int kMaxFactor = 20'000;

// The position within a plain number; the first entry of a key.
enum Phase { kStart, kSign, kWhole, kZero, kPoint, kFraction };

// The next phase according to the grammar of numbers.
std::optional<int> next_phase(int phase, char c) {
  if (c == '-') return phase == kStart ? std::optional<int>(kSign) : std::nullopt;
  if (c == '.')
    return phase == kWhole || phase == kZero ? std::optional<int>(kPoint) : std::nullopt;
  switch (phase) {
    case kStart:
    case kSign:
      return c == '0' ? kZero : kWhole;
    case kWhole:
      return kWhole;
    case kPoint:
    case kFraction:
      return kFraction;
    default:
      return std::nullopt;
  }
}

bool may_end(int phase) {
  return phase == kWhole || phase == kZero || phase == kFraction;
}

int sign_of(int x) {
  return (x > 0) - (x < 0);
}

// Compares digits one by one with those of a bound.
class Comparison {
 public:
  Comparison(const Decimal& bound, unsigned relations)
      : negative_(bound.negative),
        whole_(bound.whole_part()),
        fraction_(bound.fraction()),
        relations_(relations) {}

  // Key: phase, sign, digits seen of this part, comparison so far.
  std::optional<Dfa::Key> step(const Dfa::Key& key, char c) const {
    const auto phase = next_phase(key[0], c);
    if (!phase) return std::nullopt;
    Dfa::Key next = key;
    next[0] = *phase;
    int& seen = next[2];
    int& order = next[3];
    if (c == '-') {
      next[1] = 1;
    } else if (c == '.') {
      order = whole_order(key);
      seen = 0;
    } else if (*phase == kFraction) {
      fraction_digit(c, seen, order);
    } else {
      whole_digit(c, seen, order);
    }
    return next;
  }

  bool accepts(const Dfa::Key& key) const {
    if (!may_end(key[0])) return false;
    int order = key[0] == kFraction ? key[3] : whole_order(key);
    const bool digits_left = key[0] == kFraction ? key[2] < size(fraction_) : !fraction_.empty();
    if (order == 0 && digits_left)
      order = -1;  // the bound's fraction has more digits, not all zeros
    return (relations_ & relation(key[1] != 0, order)) != 0;
  }

 private:
  static int size(const std::string& s) { return static_cast<int>(s.size()); }

  void whole_digit(char c, int& seen, int& order) const {
    if (seen > size(whole_)) return;
    if (seen < size(whole_) && order == 0)
      order = sign_of(c - whole_[static_cast<std::size_t>(seen)]);
    ++seen;
  }

  void fraction_digit(char c, int& seen, int& order) const {
    if (order != 0) return;
    const bool inside = seen < size(fraction_);
    order = sign_of(c - (inside ? fraction_[static_cast<std::size_t>(seen)] : '0'));
    seen = order != 0 ? 0 : inside ? seen + 1 : seen;
  }

  int whole_order(const Dfa::Key& key) const {
    return key[2] != size(whole_) ? sign_of(key[2] - size(whole_)) : key[3];
  }

  // The relation of the value, given that its digits compare like `order` with those of the bound.
  unsigned relation(bool negative, int order) const {
    const bool zero_bound = whole_ == "0" && fraction_.empty();
    if (negative != negative_) {
      if (negative && zero_bound && order == 0) return kEqual;  // -0
      return negative ? kLess : kGreater;
    }
    if (negative) order = -order;
    return order < 0 ? kLess : order == 0 ? kEqual : kGreater;
  }

  bool negative_;
  std::string whole_, fraction_;
  unsigned relations_;
};

Dfa plain(const std::function<bool(int phase, bool zero_fraction)>& accepts) {
  // Key: phase, a digit other than 0 after the point.
  return Dfa::explore(
      kPlain, {kStart, 0},
      [](const Dfa::Key& key, char c) -> std::optional<Dfa::Key> {
        const auto phase = next_phase(key[0], c);
        if (!phase) return std::nullopt;
        return Dfa::Key{*phase, key[1] | static_cast<int>(*phase == kFraction && c != '0')};
      },
      [&](const Dfa::Key& key) { return may_end(key[0]) && accepts(key[0], key[1] == 0); });
}

}  // namespace

Dfa any_number() {
  enum { kExponent = kFraction + 1, kExponentSign, kExponentDigits };
  return Dfa::explore(
      "+-.0123456789Ee", {kStart},
      [](const Dfa::Key& key, char c) -> std::optional<Dfa::Key> {
        const int phase = key[0];
        const bool digit = c >= '0' && c <= '9';
        if (phase >= kExponent) {
          if (digit) return Dfa::Key{kExponentDigits};
          if ((c == '+' || c == '-') && phase == kExponent) return Dfa::Key{kExponentSign};
          return std::nullopt;
        }
        if (c == 'e' || c == 'E')
          return may_end(phase) ? std::optional(Dfa::Key{kExponent}) : std::nullopt;
        if (c == '+') return std::nullopt;
        const auto next = next_phase(phase, c);
        return next ? std::optional(Dfa::Key{*next}) : std::nullopt;
      },
      [](const Dfa::Key& key) { return may_end(key[0]) || key[0] == kExponentDigits; });
}

Dfa any_integer() {
  return plain([](int phase, bool) { return phase != kFraction; });
}

Dfa any_fraction() {
  return plain([](int phase, bool zero) { return phase == kFraction && !zero; });
}

Dfa related(const Decimal& bound, unsigned relations) {
  // Long exponents would be long runs of zeros.
  if (bound.exponent > static_cast<long long>(kMaxDigits) ||
      bound.exponent < -static_cast<long long>(kMaxDigits) || bound.digits.size() > kMaxDigits)
    fail<UnsupportedError>("a bound of more than {} digits", kMaxDigits);
  const Comparison comparison(bound, relations);
  return Dfa::explore(
      kPlain, {kStart, 0, 0, 0},
      [&](const Dfa::Key& key, char c) { return comparison.step(key, c); },
      [&](const Dfa::Key& key) { return comparison.accepts(key); });
}

Dfa multiples(const Decimal& factor) {
  const long long behind = std::max(0LL, -factor.exponent);
  if (factor.digits.size() > 6 || factor.exponent > 6 || behind > 30)
    fail<UnsupportedError>("multiples of a number with too many digits");
  long long scaled = std::stoll(factor.digits);
  for (long long i = 0; i < factor.exponent; ++i) scaled *= 10;
  if (scaled > kMaxFactor) fail<UnsupportedError>("multiples of a number with too many digits");
  const int modulus = static_cast<int>(scaled);
  // Key: phase, the digits so far as a number modulo the factor's, digits after the point.
  return Dfa::explore(
      kPlain, {kStart, 0, 0},
      [&](const Dfa::Key& key, char c) -> std::optional<Dfa::Key> {
        const auto phase = next_phase(key[0], c);
        if (!phase) return std::nullopt;
        if (c == '-' || c == '.') return Dfa::Key{*phase, key[1], key[2]};
        if (*phase == kFraction && key[2] == behind)
          return c == '0' ? std::optional(Dfa::Key{*phase, key[1], key[2]}) : std::nullopt;
        return Dfa::Key{*phase, (key[1] * 10 + (c - '0')) % modulus,
                        key[2] + static_cast<int>(*phase == kFraction)};
      },
      [&](const Dfa::Key& key) {
        int rest = key[1];
        for (long long i = key[2]; i < behind; ++i) rest = rest * 10 % modulus;
        return may_end(key[0]) && rest == 0;
      });
}

}  // namespace weft::grammar
