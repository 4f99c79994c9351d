#include "weft/serve/held_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft {

void HeldText::begin(std::string text) {
  const auto differs = std::ranges::mismatch(text, text_).in1;
  const auto common = static_cast<std::size_t>(differs - text.begin());
  std::erase_if(ends_, [&](const ComputedText::End& end) { return end.text > common; });
  text_ = std::move(text);
}

void HeldText::end(std::size_t n_tokens) {
  if (ends_.empty() || ends_.back().text < text_.size()) ends_.push_back({text_.size(), n_tokens});
}

void HeldText::drop(std::span<const TokenRange> kept) {
  for (ComputedText::End& end : ends_) {
    std::int64_t n = 0;
    for (const auto& [first, last] : kept)
      n += std::max<std::int64_t>(0, std::min(last, static_cast<std::int64_t>(end.tokens)) - first);
    end.tokens = static_cast<std::size_t>(n);
  }
}

void HeldText::clear() {
  text_.clear();
  ends_.clear();
}

ComputedText HeldText::of(std::span<const TokenId> tokens) {
  while (!ends_.empty() && ends_.back().tokens > tokens.size()) ends_.pop_back();
  if (ends_.empty()) return {};
  const auto [text, n_tokens] = ends_.back();
  return {std::string_view(text_).substr(0, text), tokens.first(n_tokens), ends_};
}

}  // namespace weft
