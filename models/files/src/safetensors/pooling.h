#pragma once
// How a model for embeddings makes one of the rows of a text: 1_Pooling/config.json, as
// sentence-transformers write it.

#include <string>
#include <string_view>

#include "weft/files/metadata.h"

namespace weft::safetensors {

// Adds ARCH.pooling_type if the directory has the file. Throws UnsupportedError for other ways than
// the mean, the first and the last token.
void read_pooling(const std::string& directory, std::string_view arch, MetadataSink& sink);

}  // namespace weft::safetensors
