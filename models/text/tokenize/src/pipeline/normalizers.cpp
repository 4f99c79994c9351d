#include "pipeline/normalizers.h"

#include <cstdlib>
#include <string_view>

#include <utf8proc.h>

#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "pipeline/text_patterns.h"
#include "unicode/byte_map.h"
#include "unicode/unicode_class.h"
#include "unicode/unicode_text.h"

namespace weft::tokenize {
namespace {

// One character after the other: `change` appends what becomes of it.
template <class Change>
void map_chars(std::string& text, bool& at_start, Change change) {
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
    check_grown_text(out.size(), kMaxText);
  }
  text = std::move(out);
}

template <class Dropped>
void drop_chars(std::string& text, bool& at_start, Dropped dropped) {
  map_chars(text, at_start, [&](char32_t c, std::string& out) {
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

// What utf8proc makes of a valid text.
std::string in_form(std::string_view text, utf8proc_option_t options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t n =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  if (n < 0) return std::string(text);
  std::string out(reinterpret_cast<const char*>(made), static_cast<std::size_t>(n));
  std::free(made);
  return out;
}

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

void to_unicode_form(normalize::UnicodeForm form, std::string& text) {
  if (is_ascii(text)) return;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (form.compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
      (form.compatible ? UTF8PROC_COMPAT : 0));
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && decode_utf8(text, end).valid) end += decode_utf8(text, end).length;
    out += in_form(std::string_view(text).substr(at, end - at), options);
    if (end < text.size()) out += text[end++];
    check_grown_text(out.size(), kMaxText);
    at = end;
  }
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
  map_chars(text, at_start, [](char32_t c, std::string& out) {
    if (is_nmt_control(c)) return;
    append_utf8(is_nmt_space(c) ? U' ' : c, out);
  });
}

void clean_for_bert(const normalize::Bert& step, std::string& text, bool& at_start) {
  if (step.clean_text) {
    map_chars(text, at_start, [](char32_t c, std::string& out) {
      if (is_removed_by_bert(c)) return;
      append_utf8((classify(c) & char_class::kSpace) != 0 ? U' ' : c, out);
    });
  }
  if (step.space_ideographs) {
    map_chars(text, at_start, [](char32_t c, std::string& out) {
      const bool apart = is_bert_ideograph(c);
      if (apart) out += ' ';
      append_utf8(c, out);
      if (apart) out += ' ';
    });
  }
  if (step.strip_accents) {
    to_unicode_form({.compose = false}, text);
    drop_chars(text, at_start, is_nonspacing_mark);
  }
  if (step.lowercase) text = lower_case(text);
}

// Short graphemes are looked up as a whole, then character by character.
void apply_charsmap(const Charsmap& charsmap, std::string& text) {
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
    check_grown_text(out.size(), kMaxText);
    at = end;
  }
  text = std::move(out);
}

void replace(const normalize::Replace& step, std::string& text, bool& at_start) {
  const PatternFinder finder(step.pattern);
  std::string out;
  std::size_t done = 0;
  finder.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out.append(text, done, begin - done).append(step.content);
    check_grown_text(out.size(), kMaxText);
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
  check_grown_text(out.size(), kMaxText);
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
    std::string& text;
    bool& at_start;

    void operator()(const normalize::Strip& step) { strip(step, text, at_start); }
    void operator()(normalize::StripAccents) {
      drop_chars(text, at_start, [](char32_t c) { return (classify(c) & char_class::kMark) != 0; });
    }
    void operator()(normalize::UnicodeForm form) { to_unicode_form(form, text); }
    void operator()(normalize::Lowercase) { text = lower_case(text); }
    void operator()(normalize::Nmt) { apply_nmt(text, at_start); }
    void operator()(const normalize::Precompiled&) { apply_charsmap(charsmap, text); }
    void operator()(const normalize::Replace& step) { replace(step, text, at_start); }
    void operator()(const normalize::Prepend& step) {
      if (!text.empty()) text.insert(0, step.text);
    }
    void operator()(normalize::ByteLevel) { write_bytes(text); }
    void operator()(const normalize::Bert& step) { clean_for_bert(step, text, at_start); }
  };
  for (std::size_t i = 0; i < steps_.size(); ++i)
    std::visit(Apply{charsmaps_[i], text, at_start}, steps_[i]);
  check_grown_text(text.size(), kMaxText);
}

}  // namespace weft::tokenize
