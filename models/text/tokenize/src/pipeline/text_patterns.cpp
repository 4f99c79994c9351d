#include "pipeline/text_patterns.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "unicode/unicode_class.h"
#include "unicode/unicode_text.h"

namespace weft {

bool is_run_pattern(const std::string& regex) {
  return tokenize::find_run_pattern(regex) != nullptr;
}

namespace tokenize {
namespace {

using namespace char_class;

template <CharClass kBits>
bool in_class(char32_t c) {
  return (classify(c) & kBits) != 0;
}
bool is_blank(char32_t c) {
  return c == ' ';
}
bool is_visible(char32_t c) {
  return !in_class<kSpace>(c);
}

struct RunPattern {
  std::string_view regex;
  RunStage run;
};

constexpr RunPattern kRunPatterns[] = {
    {" ", {.contains = is_blank, .max = 1}},
    {" +", {.contains = is_blank}},
    {" {2,}", {.contains = is_blank, .min = 2}},
    {R"(\s)", {.contains = in_class<kSpace>, .max = 1}},
    {R"(\s+)", {.contains = in_class<kSpace>}},
    {R"(\s{2,})", {.contains = in_class<kSpace>, .min = 2}},
    {R"(\S+)", {.contains = is_visible}},
    {R"([^\s]+)", {.contains = is_visible}},
    {R"(\n)", {.contains = is_line_feed, .max = 1}},
    {R"(\n+)", {.contains = is_line_feed}},
    {R"([\r\n])", {.contains = is_newline, .max = 1}},
    {R"([\r\n]+)", {.contains = is_newline}},
    {R"(\d)", {.contains = in_class<kDecimal>, .max = 1}},
    {R"(\d+)", {.contains = in_class<kDecimal>}},
    {R"(\d{1,3})", {.contains = in_class<kDecimal>, .max = 3}},
    {"[0-9]", {.contains = is_ascii_digit, .max = 1}},
    {"[0-9]+", {.contains = is_ascii_digit}},
    {"[0-9][0-9][0-9]", {.contains = is_ascii_digit, .min = 3, .max = 3}},
    {R"(\p{N})", {.contains = in_class<kNumber>, .max = 1}},
    {R"(\p{N}+)", {.contains = in_class<kNumber>}},
    {R"(\p{N}{1,3})", {.contains = in_class<kNumber>, .max = 3}},
    {R"(\p{L}+)", {.contains = in_class<kLetter>}},
    {R"(\p{P})", {.contains = in_class<kPunctuation>, .max = 1}},
    {R"(\p{P}+)", {.contains = in_class<kPunctuation>}},
};

}  // namespace

const RunStage* find_run_pattern(std::string_view regex) {
  for (const RunPattern& row : kRunPatterns)
    if (row.regex == regex) return &row.run;
  return nullptr;
}

bool PatternFinder::next_literal(std::string_view text, std::size_t& begin,
                                 std::size_t& end) const {
  if (literal_.empty()) return false;
  begin = text.find(literal_, begin);
  end = begin + literal_.size();
  return begin != text.npos;
}

bool PatternFinder::next_run(std::string_view text, std::size_t& begin, std::size_t& end) const {
  const CharReader reader(text);
  while (begin < text.size()) {
    int n = 0;
    for (end = begin; n < run_->max && end < text.size(); ++n) {
      const CharReader::Char c = reader.at(end);
      if (!decode_utf8(text, end).valid || !run_->contains(c.code)) break;
      end = c.next;
    }
    if (n >= run_->min) return true;
    begin = end > begin ? end : reader.at(begin).next;
  }
  return false;
}

std::size_t spaces_at_begin(std::string_view text) {
  return CharReader(text).run(0, [](const CharReader::Char& c) { return (c.bits & kSpace) != 0; });
}

std::size_t spaces_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t begin = last_char(text.substr(0, end));
    if ((CharReader(text.substr(0, end)).at(begin).bits & kSpace) == 0) break;
    end = begin;
  }
  return text.size() - end;
}

std::pair<std::size_t, std::size_t> SpaceAbsorber::around(std::size_t begin, std::size_t end,
                                                          std::size_t done, bool left, bool right) {
  if (left) begin = done < begin ? begin - spaces_at_end(text_.substr(done, begin - done)) : done;
  if (right) {
    if (end > run_end_) run_end_ = end + spaces_at_begin(text_.substr(end));
    end = std::max(end, run_end_);
  }
  return {begin, std::max(begin, end)};
}

void check_pattern(const TextPattern& pattern) {
  if (pattern.text.empty() || (pattern.regex && !is_run_pattern(pattern.text)))
    fail<FormatError>("the pattern '{}' is not known", pattern.text);
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word_char(decode_utf8(text, 0).code);
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_char(decode_utf8(text, last_char(text)).code);
}

}  // namespace tokenize
}  // namespace weft
