// Texts up to a marker, and texts without it: the automaton of Knuth, Morris and Pratt over
// characters. State i: the text ends with the first i characters of the marker, and no more.

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/grammar/grammar.h"

#include "characters.h"
#include "compiled_grammar.h"

namespace weft {
namespace {

using namespace grammar;

std::u32string characters(std::string_view marker) {
  std::u32string all;
  for (std::size_t at = 0; at < marker.size();) {
    const Utf8Char c = decode_utf8(marker, at);
    if (!c.valid) fail<ValueError>("a marker must be UTF-8");
    all += c.code;
    at += c.length;
  }
  if (all.empty()) fail<ValueError>("a marker must not be empty");
  return all;
}

// The length of the longest beginning of the marker with which `text` ends.
std::size_t state_after(const std::u32string& marker, const std::u32string& text) {
  for (std::size_t n = std::min(marker.size(), text.size()); n > 0; --n)
    if (std::u32string_view(text).ends_with(std::u32string_view(marker).substr(0, n))) return n;
  return 0;
}

std::shared_ptr<const Grammar> marked_text(std::string_view text, bool ends_with_it) {
  const std::u32string marker = characters(text);
  CodePoints of_marker;
  for (const char32_t c : marker) of_marker.add(c, c);
  std::u32string different = marker;
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());

  GrammarBuilder builder;
  std::vector<StateId> states;
  for (std::size_t i = 0; i <= marker.size(); ++i) states.push_back(builder.state());
  const StateId end = builder.state();
  for (std::size_t i = 0; i < marker.size(); ++i) {
    add_character(builder, states[i], of_marker.inverted(), states[0]);
    for (const char32_t c : different) {
      const std::size_t next = state_after(marker, marker.substr(0, i) + c);
      if (next == marker.size() && !ends_with_it) continue;
      CodePoints one;
      one.add(c, c);
      add_character(builder, states[i], one, states[next]);
    }
  }
  for (std::size_t i = 0; i <= marker.size(); ++i)
    if (ends_with_it == (i == marker.size())) builder.skip(states[i], end);
  const RuleId root = builder.add_rule("root", {states.front(), end});
  return std::make_shared<Grammar>(
      std::make_shared<const CompiledGrammar>(builder.finish(root, false)));
}

}  // namespace

std::shared_ptr<const Grammar> Grammar::up_to(std::string_view marker) {
  return marked_text(marker, true);
}

std::shared_ptr<const Grammar> Grammar::without(std::string_view marker) {
  return marked_text(marker, false);
}

}  // namespace weft
