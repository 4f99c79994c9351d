#include "weft/base/utf8.h"
#include "weft/grammar/regex.h"

#include "regex/regex.h"

namespace weft {

Regex::Regex(std::string_view pattern)
    : automaton_(std::make_shared<const grammar::Dfa>(grammar::compile_regex(pattern, false))) {}

bool Regex::found_in(std::string_view text) const {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    characters += c.code;
    at += c.length;
  }
  return automaton_->matches(characters);
}

}  // namespace weft
