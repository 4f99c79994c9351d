#include "code_points.h"

#include <algorithm>

namespace weft::grammar {

CodePoints CodePoints::of(std::string_view ascii) {
  CodePoints set;
  for (const char c : ascii) set.add(static_cast<char32_t>(c), static_cast<char32_t>(c));
  return set;
}

void CodePoints::add(char32_t lo, char32_t hi) {
  const auto first =
      std::lower_bound(ranges_.begin(), ranges_.end(), lo,
                       [](const CodeRange& range, char32_t code) { return range.hi + 1 < code; });
  auto last = first;
  for (; last != ranges_.end() && last->lo <= hi + 1; ++last) {
    lo = std::min(lo, last->lo);
    hi = std::max(hi, last->hi);
  }
  ranges_.insert(ranges_.erase(first, last), {lo, hi});
}

void CodePoints::add(const CodePoints& other) {
  for (const CodeRange& range : other.ranges_) add(range.lo, range.hi);
}

CodePoints CodePoints::inverted() const {
  CodePoints result;
  char32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.lo > next) result.ranges_.push_back({next, range.lo - 1});
    next = range.hi + 1;
  }
  if (next <= kMaxCodePoint) result.ranges_.push_back({next, kMaxCodePoint});
  return result;
}

CodePoints CodePoints::intersected(const CodePoints& other) const {
  CodePoints result;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const char32_t lo = std::max(a->lo, b->lo);
    const char32_t hi = std::min(a->hi, b->hi);
    if (lo <= hi) result.ranges_.push_back({lo, hi});
    a->hi < b->hi ? ++a : ++b;
  }
  return result;
}

bool CodePoints::contains(char32_t code) const {
  const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), code,
                                      [](const CodeRange& r, char32_t c) { return r.hi < c; });
  return range != ranges_.end() && range->lo <= code;
}

}  // namespace weft::grammar
