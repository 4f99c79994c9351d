#pragma once
// Two small vocabularies built in code that have a token for every byte: one of kind "gpt2" and one
// of kind "llama".

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/vocabulary.h"

namespace weft::test {

class VocabularyBuilder {
 public:
  TokenId add(std::string text, TokenType type = TokenType::normal, float score = 0.0F) {
    parts.tokens.push_back(texts_.emplace_back(std::move(text)));
    parts.types.push_back(type);
    parts.scores.push_back(score);
    return static_cast<TokenId>(parts.tokens.size()) - 1;
  }
  void merge(const std::string& left, const std::string& right) {
    parts.merges.push_back(texts_.emplace_back(left + " " + right));
  }
  std::shared_ptr<const Vocabulary> build() { return std::make_shared<const Vocabulary>(parts); }

  VocabularyParts parts;

 private:
  std::deque<std::string> texts_;
};

// A byte in the notation of byte-level BPE.
inline std::string byte_notation(unsigned byte) {
  const auto plain = [](unsigned b) { return (b > 0x20 && b < 0x7F) || (b > 0xA0 && b != 0xAD); };
  unsigned code = byte;
  if (!plain(byte)) {
    code = 0x100;
    for (unsigned b = 0; b < byte; ++b) code += plain(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

// Ids 0-255 are the bytes. Then the steps of a few words ("Ġ" is a space), then special tokens.
inline VocabularyBuilder byte_level_builder(const std::string& pre) {
  VocabularyBuilder b;
  b.parts.kind = "gpt2";
  b.parts.pre = pre;
  for (unsigned byte = 0; byte < 256; ++byte) b.add(byte_notation(byte));
  const auto step = [&](const std::string& left, const std::string& right) {
    b.add(left + right);
    b.merge(left, right);
  };
  step("h", "e");
  step("l", "l");
  step("he", "ll");
  step("hell", "o");
  step("\xC4\xA0", "w");
  step("o", "r");
  step("\xC4\xA0w", "or");
  step("a", "a");
  step("aa", "aa");
  step("1", "2");
  step("\xC3\xA2", "\xC4\xA4");  // the first two bytes of "\u2026"
  b.add("<|im_start|>", TokenType::control);
  b.parts.special.eos = b.add("<|im_end|>", TokenType::control);
  b.add("<tool>", TokenType::user_defined);
  b.add("<tool><tool>", TokenType::user_defined);
  return b;
}

inline std::shared_ptr<const Vocabulary> byte_level_vocabulary(const std::string& pre = "gpt-2") {
  return byte_level_builder(pre).build();
}

// <unk>, <s>, </s>, the 256 bytes from id 3 on, then characters and words.
inline VocabularyBuilder sentencepiece_builder() {
  VocabularyBuilder b;
  b.parts.kind = "llama";
  b.parts.special = {.bos = 1, .eos = 2, .unk = 0};
  b.parts.flags = {.add_bos = true, .add_space_prefix = true};
  b.add("<unk>", TokenType::unknown);
  b.add("<s>", TokenType::control);
  b.add("</s>", TokenType::control);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte)
    b.add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", TokenType::byte);
  float score = 0;
  for (const char* piece : {"\xE2\x96\x81h", "el", "\xE2\x96\x81hel", "lo", "\xE2\x96\x81hello",
                            "\xE2\x96\x81\xE2\x96\x81", "aa", "aaaa", "\xE2\x96\x81", "h", "e", "l",
                            "o", "a", "w", "\xC3\xA9"}) {
    b.add(piece, TokenType::normal, --score);
  }
  b.add("<tool>", TokenType::user_defined);
  return b;
}

inline std::shared_ptr<const Vocabulary> sentencepiece_vocabulary() {
  return sentencepiece_builder().build();
}

}  // namespace weft::test
