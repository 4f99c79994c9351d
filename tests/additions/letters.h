#pragma once
// Tokenizer kind "letters": one token for each byte of the text.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults letters_defaults(std::string_view pre);
std::shared_ptr<const Tokenizer> make_letters(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize
