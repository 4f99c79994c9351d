#pragma once
// Keys of this project's own in GGUF files: the ids of special tokens that take the white space
// beside them. No common key says so.

namespace weft::files {

inline constexpr const char* kStripLeftKey = "weft.tokenizer.strip_left";
inline constexpr const char* kStripRightKey = "weft.tokenizer.strip_right";

}  // namespace weft::files
