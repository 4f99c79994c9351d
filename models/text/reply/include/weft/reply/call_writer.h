#pragma once
// Writes calls in the notation of a model: the inverse of ReplyParser.

#include "weft/reply/reply_parser.h"
#include "weft/template/chat_template.h"

namespace weft {

// For ChatRenderOptions::write_calls. Empty for notations other than JSON or Python calls between
// marks. Throws ValueError for an unknown one; the returned function throws FormatError for
// arguments that are not JSON.
CallWriter call_writer(const ReplySyntax& syntax);

}  // namespace weft
