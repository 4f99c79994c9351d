#pragma once
// Keys that only Weft uses in GGUF files, for what tokenizer.json says and no common key can.

namespace weft::files {

// The ids of special tokens that absorb the white space around them, and of those that are not
// found inside words.
inline constexpr const char* kStripLeftKey = "weft.tokenizer.strip_left";
inline constexpr const char* kStripRightKey = "weft.tokenizer.strip_right";
inline constexpr const char* kWholeWordsKey = "weft.tokenizer.whole_words";

// The ids of tokens that end a reply, besides eos, eot and eom.
inline constexpr const char* kMoreEndsKey = "weft.tokenizer.more_ends";

// The forms of a text and of a pair: per part a token's id, or one of the numbers below; and the
// type of each part, if it is not 0 for all.
inline constexpr const char* kTextFormKey = "weft.tokenizer.text_form";
inline constexpr const char* kTextTypesKey = "weft.tokenizer.text_types";
inline constexpr const char* kPairFormKey = "weft.tokenizer.pair_form";
inline constexpr const char* kPairTypesKey = "weft.tokenizer.pair_types";
inline constexpr int kFirstText = -1, kSecondText = -2;

// The template for conversations with tools, if it has its own. Other programs use this key, too.
inline constexpr const char* kToolTemplateKey = "tokenizer.chat_template.tool_use";

}  // namespace weft::files
