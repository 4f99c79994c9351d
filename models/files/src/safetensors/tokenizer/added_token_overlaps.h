#pragma once
// Whether the order in which added tokens are looked for can matter.

#include <span>
#include <string>

#include "weft/tokenize/pipeline.h"

namespace weft::safetensors {

// False if it is the same to take the leftmost token first, as tokenizer.json means it, and to take
// the longest first, as readers of GGUF files do: no token ends with what another one begins with,
// and no token that is found before the text is normalized is part of one that is found afterwards.
// `texts`: of the tokens of the vocabulary, by id.
bool order_matters(std::span<const AddedToken> added, std::span<const std::string> texts);

}  // namespace weft::safetensors
