#pragma once
// The lower half of the parser of regular expressions: reads a pattern character by character, and
// the notations of sets of characters, escapes and classes.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "code_points.h"

namespace weft::grammar {

class RegexReader {
 public:
  // REQUIRES: the pattern lives as long as the reader.
  explicit RegexReader(std::string_view pattern) : pattern_(pattern) {}

 protected:
  // Throw FormatError and UnsupportedError, which name the column of the byte `at`.
  [[noreturn]] void error(std::size_t at, const std::string& what) const;
  [[noreturn]] void unsupported(std::size_t at, const std::string& what) const;

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool more() const { return at_ < pattern_.size(); }
  bool take(char c) {
    if (!more() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  char32_t character();
  // A set of one character for those that stand for one. The backslash at `begin` has been read.
  CodePoints escape(std::size_t begin, bool in_class);
  // The '[' at `begin` has been read.
  CodePoints char_class(std::size_t begin);

  std::string_view pattern_;
  std::size_t at_ = 0;

 private:
  char32_t escaped_character(std::size_t begin, char32_t code);
  char32_t hex(std::size_t begin, int digits_wanted);
  char32_t code_number(std::size_t begin, int digits_wanted);
  CodePoints property(std::size_t begin, bool inverted);
  CodePoints class_item(std::size_t begin);

  std::map<std::string, CodePoints> categories_;
};

}  // namespace weft::grammar
