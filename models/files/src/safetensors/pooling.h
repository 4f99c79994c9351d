#pragma once
// How a model for embeddings makes one of the rows of a text: config.json of the module Pooling, as
// sentence-transformers write it, in its old form (pooling_mode_cls_token: true) and its new one
// (pooling_mode: "cls").

#include <string>
#include <string_view>

#include "weft/files/metadata.h"

namespace weft::safetensors {

// Adds ARCH.pooling_type if the file exists. Throws UnsupportedError for other ways than the mean,
// the first and the last token. Returns whether it exists.
bool read_pooling(const std::string& file, std::string_view arch, MetadataSink& sink);

}  // namespace weft::safetensors
