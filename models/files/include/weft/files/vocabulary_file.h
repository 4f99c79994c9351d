#pragma once
// The vocabulary that a model file carries.
// Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <memory>

#include "weft/files/checkpoint.h"
#include "weft/tokenize/vocabulary.h"

namespace weft {

// String: the template for conversations with tools, if it has its own. Other programs use this
// key, too.
inline constexpr const char* kToolTemplateKey = "tokenizer.chat_template.tool_use";

// Reads the keys tokenizer.* of `file`, and ARCH.vocab_size if the file carries no tokens. Keys
// that are absent take the defaults of the tokenizer's kind. Throws FormatError if a key has the
// wrong type or arrays differ in length; a special id outside the vocabulary is ignored with a
// warning.
std::shared_ptr<const Vocabulary> read_vocabulary(const Checkpoint& file);

}  // namespace weft
