#pragma once
// Tokenizer kind "rwkv": the longest token at every position, byte by byte. Source: the tokenizer
// rwkv_vocab_v20230424 of https://github.com/BlinkDL/ChatRWKV.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults rwkv_defaults(std::string_view pre);
std::shared_ptr<const Tokenizer> make_rwkv(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize
