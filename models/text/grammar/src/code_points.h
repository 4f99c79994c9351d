#pragma once
// Sets of Unicode code points.

#include <string_view>
#include <vector>

namespace weft::grammar {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

struct CodeRange {
  char32_t lo, hi;  // both within
  bool operator==(const CodeRange&) const = default;
  auto operator<=>(const CodeRange&) const = default;
};

// Ascending ranges that neither overlap nor touch.
class CodePoints {
 public:
  CodePoints() = default;
  CodePoints(char32_t lo, char32_t hi) : ranges_{{lo, hi}} {}
  static CodePoints all() { return {0, kMaxCodePoint}; }
  static CodePoints of(std::string_view ascii);

  void add(char32_t lo, char32_t hi);
  void add(const CodePoints& other);
  CodePoints inverted() const;
  CodePoints intersected(const CodePoints& other) const;
  bool contains(char32_t code) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<CodeRange>& ranges() const { return ranges_; }
  bool operator==(const CodePoints&) const = default;
  auto operator<=>(const CodePoints&) const = default;

 private:
  std::vector<CodeRange> ranges_;
};

}  // namespace weft::grammar
