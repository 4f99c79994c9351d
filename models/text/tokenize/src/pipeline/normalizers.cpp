#include "pipeline/normalizers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <utf8proc.h>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/byte_map.h"
#include "weft/tokenize/space_symbol.h"

#include "pipeline/text_patterns.h"
#include "unicode/unicode_class.h"
#include "unicode/unicode_text.h"

namespace weft::tokenize {
namespace {

// How much larger a text may become. The longest expansion of a character, in NFKC and NFKD, is to
// 11 times its bytes: more are replacements of a hostile file.
constexpr std::size_t kMaxGrowth = 64, kMinGrown = 4096;
// Characters that are normalized at a time, if the text has places to cut.
constexpr std::size_t kPiece = 4096;

// One character after the other: `change` appends what becomes of it.
template <class Change>
void map_chars(std::string& text, bool& at_start, std::size_t limit, Change change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid) {
      change(c.code, out);
    } else {
      out += text[at];
    }
    at += c.length;
    if (out.empty()) at_start = false;
    check_grown_text(out.size(), limit);
  }
  text = std::move(out);
}

template <class Dropped>
void drop_chars(std::string& text, bool& at_start, Dropped dropped) {
  map_chars(text, at_start, kMaxText, [&](char32_t c, std::string& out) {
    if (!dropped(c)) append_utf8(c, out);
  });
}

void strip(const normalize::Strip& step, std::string& text, bool& at_start) {
  if (step.right) text.resize(text.size() - spaces_at_end(text));
  if (!step.left) return;
  const std::size_t n = spaces_at_begin(text);
  at_start = at_start && n == 0;
  text.erase(0, n);
}

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

using Codes = std::vector<utf8proc_int32_t>;

void decompose(char32_t c, utf8proc_option_t options, Codes& codes) {
  constexpr std::size_t kUsual = 4;
  const std::size_t begin = codes.size();
  const auto write = [&](std::size_t room) {
    codes.resize(begin + room);
    int boundary = 0;
    const utf8proc_ssize_t n =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), codes.data() + begin,
                                static_cast<utf8proc_ssize_t>(room), options, &boundary);
    if (n < 0) fail<ValueError>("U+{:04X} has no normal form", static_cast<std::uint32_t>(c));
    return static_cast<std::size_t>(n);
  };
  std::size_t n = write(kUsual);
  if (n > kUsual) n = write(n);
  codes.resize(begin + n);
}

// Sorts each run of combining marks by class. utf8proc_map() does so with exchanges of neighbours,
// in a time that grows with the square of the marks.
void order_marks(Codes& codes) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  for (auto at = codes.begin(); at != codes.end();) {
    const auto begin = std::find_if(at, codes.end(), [&](auto c) { return mark_class(c) > 0; });
    at = std::find_if(begin, codes.end(), [&](auto c) { return mark_class(c) == 0; });
    std::ranges::stable_sort(begin, at, {}, mark_class);
  }
}

// Invalid bytes stay, and characters on both sides of them do not combine.
void to_unicode_form(normalize::UnicodeForm form, std::size_t limit, std::string& text) {
  if (is_ascii(text)) return;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (form.compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
      (form.compatible ? UTF8PROC_COMPAT : 0));
  std::string out;
  Codes codes;
  const auto flush = [&] {
    order_marks(codes);
    const auto n = utf8proc_normalize_utf32(codes.data(),
                                            static_cast<utf8proc_ssize_t>(codes.size()), options);
    for (utf8proc_ssize_t i = 0; i < n; ++i)
      append_utf8(static_cast<char32_t>(codes[static_cast<std::size_t>(i)]), out);
    codes.clear();
    check_grown_text(out.size(), limit);
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid) {
      // A piece ends where nothing combines across: before an ASCII character.
      if (c.code < 0x80 && codes.size() >= kPiece) flush();
      decompose(c.code, options, codes);
    } else {
      flush();
      out += text[at];
    }
    at += c.length;
    check_grown_text(out.size() + codes.size(), limit);
  }
  flush();
  text = std::move(out);
}

bool is_nmt_control(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         c == 0x8F || c == 0x9F;
}
bool is_nmt_space(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

void apply_nmt(std::string& text, bool& at_start) {
  map_chars(text, at_start, kMaxText, [](char32_t c, std::string& out) {
    if (is_nmt_control(c)) return;
    append_utf8(is_nmt_space(c) ? U' ' : c, out);
  });
}

void clean_for_bert(const normalize::Bert& step, std::size_t limit, std::string& text,
                    bool& at_start) {
  if (step.clean_text) {
    map_chars(text, at_start, limit, [](char32_t c, std::string& out) {
      if (is_removed_by_bert(c)) return;
      append_utf8((classify(c) & char_class::kSpace) != 0 ? U' ' : c, out);
    });
  }
  if (step.space_ideographs) {
    map_chars(text, at_start, limit, [](char32_t c, std::string& out) {
      const bool apart = is_bert_ideograph(c);
      if (apart) out += ' ';
      append_utf8(c, out);
      if (apart) out += ' ';
    });
  }
  if (step.strip_accents) {
    to_unicode_form({.compose = false}, limit, text);
    drop_chars(text, at_start, is_nonspacing_mark);
  }
  if (step.lowercase) text = lower_case(text);
}

// Short graphemes are looked up as a whole, then character by character.
void apply_charsmap(const Charsmap& charsmap, std::size_t limit, std::string& text) {
  constexpr std::size_t kMaxGrapheme = 6;
  std::string out;
  out.reserve(text.size());
  const auto add = [&](std::string_view part) {
    const Charsmap::Match match = charsmap.shortest(part);
    if (match.length > 0) out += match.replacement;
    return match.length > 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = grapheme_end(text, at);
    const std::string_view whole = std::string_view(text).substr(at, end - at);
    if (whole.size() >= kMaxGrapheme || !add(whole)) {
      for (std::size_t i = 0; i < whole.size();) {
        const std::string_view part = whole.substr(i, decode_utf8(whole, i).length);
        if (!add(part)) out += part;
        i += part.size();
      }
    }
    check_grown_text(out.size(), limit);
    at = end;
  }
  text = std::move(out);
}

void replace(const normalize::Replace& step, std::size_t limit, std::string& text, bool& at_start) {
  const PatternFinder finder(step.pattern);
  std::string out;
  std::size_t done = 0;
  finder.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out.append(text, done, begin - done).append(step.content);
    check_grown_text(out.size(), limit);
    // A replacement counts as the last character that it replaces.
    const bool first = begin == 0 && end == decode_utf8(text, 0).length;
    if (out.empty() || (begin == 0 && !first)) at_start = false;
    done = end;
  });
  if (done == 0) return;
  text = out.append(text, done);
}

void write_bytes(std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) out += byte_as_text(static_cast<std::uint8_t>(c));
  text = std::move(out);
}

}  // namespace

Normalizers::Normalizers(std::span<const normalize::Step> steps)
    : steps_(steps.begin(), steps.end()) {
  for (normalize::Step& step : steps_) {
    if (const auto* replace = std::get_if<normalize::Replace>(&step))
      check_pattern(replace->pattern);
    auto* table = std::get_if<normalize::Precompiled>(&step);
    charsmaps_.emplace_back(table ? Charsmap(table->charsmap) : Charsmap());
    if (table) table->charsmap.clear();  // read
  }
}

void Normalizers::apply(std::string& text, bool& at_start) const {
  struct Apply {
    const Charsmap& charsmap;
    std::size_t limit;
    std::string& text;
    bool& at_start;

    void operator()(const normalize::Strip& step) { strip(step, text, at_start); }
    void operator()(normalize::StripAccents) {
      drop_chars(text, at_start, [](char32_t c) { return (classify(c) & char_class::kMark) != 0; });
    }
    void operator()(normalize::UnicodeForm form) { to_unicode_form(form, limit, text); }
    void operator()(normalize::Lowercase) { text = lower_case(text); }
    void operator()(normalize::Nmt) { apply_nmt(text, at_start); }
    void operator()(const normalize::Precompiled&) { apply_charsmap(charsmap, limit, text); }
    void operator()(const normalize::Replace& step) { replace(step, limit, text, at_start); }
    void operator()(const normalize::Prepend& step) {
      if (!text.empty()) text.insert(0, step.text);
    }
    void operator()(normalize::ByteLevel) { write_bytes(text); }
    void operator()(const normalize::Bert& step) { clean_for_bert(step, limit, text, at_start); }
  };
  const std::size_t limit = std::min(kMaxText, kMinGrown + kMaxGrowth * text.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    std::visit(Apply{charsmaps_[i], limit, text, at_start}, steps_[i]);
    check_grown_text(text.size(), limit);
  }
}

}  // namespace weft::tokenize
