#pragma once
// Blocks that quote a document: their text becomes part of the message.

#include <string>
#include <string_view>

#include "weft/api/fields.h"

namespace weft::api::anthropic {

// The types of blocks that quote.
inline constexpr std::string_view kDocuments[] = {"document", "search_result"};
bool is_document(std::string_view type);

// The title, the context and the text of a block, one after the other. Throws ApiError 400 for
// sources other than texts, such as PDF files, and for citations that are enabled. REQUIRES:
// is_document() of its type.
std::string document_text(const Json& block, const Path& path);

}  // namespace weft::api::anthropic
