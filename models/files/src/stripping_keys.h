#pragma once
// Keys that only Weft uses in GGUF files: the ids of special tokens that absorb the white space
// around them. There is no common key for this.

namespace weft::files {

inline constexpr const char* kStripLeftKey = "weft.tokenizer.strip_left";
inline constexpr const char* kStripRightKey = "weft.tokenizer.strip_right";

}  // namespace weft::files
