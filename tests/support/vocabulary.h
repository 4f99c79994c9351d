#pragma once
// Small vocabularies built in code, one of each kind. Those of kind "gpt2", "llama", "rwkv",
// "plamo2" and "gemma4" have a token for every byte.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/vocabulary.h"

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

// <unk>, <s>, </s>, the 256 bytes from id 3 on.
inline VocabularyBuilder builder_with_bytes(const std::string& kind) {
  VocabularyBuilder b;
  b.parts.kind = kind;
  b.parts.special = {.bos = 1, .eos = 2, .unk = 0};
  b.add("<unk>", TokenType::unknown);
  b.add("<s>", TokenType::control);
  b.add("</s>", TokenType::control);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte)
    b.add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", TokenType::byte);
  return b;
}

inline VocabularyBuilder plamo2_builder() {
  VocabularyBuilder b = builder_with_bytes("plamo2");
  for (const auto& [text, score] :
       {std::pair("a", -4.0F), std::pair("ab", -5.0F), std::pair("abc", -30.0F),
        std::pair("bc", -5.5F), std::pair("c", -4.0F), std::pair(" ", -3.0F),
        std::pair("\u4E2D", -6.0F), std::pair("\u4E2D\u6587", -7.0F)})
    b.add(text, TokenType::normal, score);
  return b;
}

inline VocabularyBuilder gemma4_builder() {
  VocabularyBuilder b = builder_with_bytes("gemma4");
  b.parts.flags.add_bos = true;
  for (const char* text : {"\xE2\x96\x81", "a", "b", "c", "\u4E2D", "\n", "\n\n"}) b.add(text);
  const auto step = [&](const std::string& left, const std::string& right) {
    b.add(left + right);
    b.merge(left, right);
  };
  step("\xE2\x96\x81", "\xE2\x96\x81");
  step("b", "c");
  step("a", "b");
  step("\xE2\x96\x81", "a");
  step(
      "\xE2\x96\x81"
      "a",
      "bc");
  return b;
}

inline VocabularyBuilder rwkv_builder() {
  VocabularyBuilder b;
  b.parts.kind = "rwkv";
  b.add("<s>", TokenType::control);
  constexpr std::string_view kHex = "0123456789abcdef";
  for (unsigned byte = 0; byte < 256; ++byte) {
    b.add(byte > 0x20 && byte < 0x7F && byte != '\\'
              ? std::string(1, static_cast<char>(byte))
              : std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15]);
  }
  for (const char* text : {"\\n\\n", "\\t\\r", "\\\\\\'", "he", "hello", "\\xe4\\xb8"}) b.add(text);
  return b;
}

inline VocabularyBuilder wordpiece_builder() {
  VocabularyBuilder b;
  b.parts.kind = "bert";
  b.parts.special = {.bos = 2, .unk = 1, .sep = 3};
  b.parts.flags = {.add_bos = true, .add_sep = true, .lowercase = true, .strip_accents = true};
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) b.add(text, TokenType::control);
  for (const char* text : {"un", "able", "e", ",", "!", "\u4E2D", "i"})
    b.add(std::string("\xE2\x96\x81") + text);
  for (const char* text : {"aff", "able", "s"}) b.add(text);
  return b;
}

inline VocabularyBuilder unigram_builder() {
  VocabularyBuilder b;
  b.parts.kind = "t5";
  b.parts.special = {.eos = 1, .unk = 2, .pad = 0};
  b.parts.flags = {.add_eos = true, .add_space_prefix = true, .remove_extra_whitespaces = true};
  b.add("<pad>", TokenType::control);
  b.add("</s>", TokenType::control);
  b.add("<unk>", TokenType::unknown);
  for (const auto& [text, score] : {std::pair("\xE2\x96\x81", -2.0F), std::pair("a", -3.0F),
                                    std::pair("b", -3.0F), std::pair("ab", -5.0F),
                                    std::pair("\xE2\x96\x81"
                                              "ab",
                                              -7.5F),
                                    std::pair("bab", -4.0F)})
    b.add(text, TokenType::normal, score);
  b.add("abab", TokenType::unused, -1.0F);
  return b;
}

}  // namespace weft::test
