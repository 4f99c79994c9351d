#pragma once
// Changes of characters that normalizers speak of, from utf8proc's tables.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::tokenize {

// The canonical decomposition of one character, at most 4 of them. Returns how many were written.
inline constexpr int kMaxDecomposed = 4;
int decompose(char32_t code, char32_t* out);

// The lower-case form. U+0130 alone has one of two characters: the second is a combining dot above.
char32_t lower_case(char32_t code);
std::string lower_case(std::string_view text);

bool is_nonspacing_mark(char32_t code);     // Mn
bool is_control_or_private(char32_t code);  // Cc, Cf, Co

// Characters that BERT's tokenizer removes before anything else (its clean_text): U+0000, U+FFFD,
// and control and private-use characters other than tab, line feed and carriage return.
bool is_removed_by_bert(char32_t code);
// Ideographs that BERT's tokenizer makes words of their own: the blocks that it lists, with their
// gaps.
bool is_bert_ideograph(char32_t code);

// Where the last character of a text begins; its last byte if that belongs to no character.
// REQUIRES: the text is not empty.
std::size_t last_char(std::string_view text);

// Where the grapheme that starts at byte `at` ends. REQUIRES: at < text.size().
std::size_t grapheme_end(std::string_view text, std::size_t at);

}  // namespace weft::tokenize
