#include "unicode/charsmap.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

namespace weft::tokenize {
namespace {

std::uint32_t little_endian(std::string_view blob, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(blob[at + i]);
  return value;
}

// The fields of a unit of the double array.
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}
std::uint32_t label(std::uint32_t unit) {
  return unit & (1u << 31 | 0xFFu);
}
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t leaf_value(std::uint32_t unit) {
  return unit & ~(1u << 31);
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  if (blob.empty()) return;
  const std::size_t size = blob.size() >= 4 ? little_endian(blob, 0) : 0;
  if (size == 0 || size % 4 != 0 || size >= blob.size() - 4) {
    fail<FormatError>(
        "tokenizer.ggml.precompiled_charsmap: a table of {} bytes does not fit into {} bytes", size,
        blob.size());
  }
  for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(little_endian(blob, at));
  replacements_ = blob.substr(4 + size);
  for (std::size_t begin = 0; begin < replacements_.size();) {
    const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    if (end - begin > kMaxLength) {
      fail<FormatError>(
          "tokenizer.ggml.precompiled_charsmap: the replacement at byte {} is longer than {} bytes",
          begin, kMaxLength);
    }
    begin = end + 1;
  }
}

std::uint32_t Charsmap::unit(std::size_t i) const {
  if (i >= units_.size()) {
    fail<FormatError>("tokenizer.ggml.precompiled_charsmap: entry {} of {} is out of range", i,
                      units_.size());
  }
  return units_[i];
}

Charsmap::Match Charsmap::find(std::string_view text, std::size_t at, bool shortest) const {
  Match best;
  if (units_.empty()) return best;
  std::size_t node = offset(units_[0]);
  const std::size_t end = std::min(text.size(), at + kMaxLength);
  for (std::size_t i = at; i < end; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    node ^= byte;
    const std::uint32_t here = unit(node);
    if (label(here) != byte) break;
    node ^= offset(here);
    if (!has_leaf(here)) continue;
    const std::size_t value = leaf_value(unit(node));
    if (value >= replacements_.size()) {
      fail<FormatError>(
          "tokenizer.ggml.precompiled_charsmap: replacement {} is beyond its {} bytes", value,
          replacements_.size());
    }
    best = {i + 1 - at, replacements_.c_str() + value};
    if (shortest) break;
  }
  return best;
}

std::string normalize(const Charsmap& charsmap, const SentencePieceRules& rules,
                      std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(text.size() + text.size() / 4 + kSpaceSymbol.size());
  bool skip_spaces = rules.remove_extra_spaces;
  bool space_first = rules.space_prefix;
  if (!rules.remove_extra_spaces && space_first && !text.empty()) out += kSpaceSymbol;
  const auto add = [&](std::string_view piece) {
    if (skip_spaces) {
      const std::size_t n_spaces = std::min(piece.find_first_not_of(' '), piece.size());
      space_first |= rules.continues && n_spaces > 0;
      piece.remove_prefix(n_spaces);
    }
    if (piece.empty()) return;
    if (out.empty() && space_first) out += kSpaceSymbol;
    append_with_space_symbols(piece, out);
    skip_spaces = rules.remove_extra_spaces && piece.back() == ' ';
    check_grown_text(out.size(), limit);
  };
  for (std::size_t at = 0; at < text.size();) {
    if (const Charsmap::Match match = charsmap.longest(text, at); match.length > 0) {
      add(match.replacement);
      at += match.length;
      continue;
    }
    const Utf8Char c = decode_utf8(text, at);
    add(c.valid ? text.substr(at, c.length) : kReplacement);
    at += c.length;
  }
  if (rules.remove_extra_spaces) {
    while (out.ends_with(kSpaceSymbol)) out.resize(out.size() - kSpaceSymbol.size());
  }
  return out;
}

}  // namespace weft::tokenize
