#pragma once
// How a model for embeddings makes one of the rows of a text: config.json of the module Pooling, as
// sentence-transformers write it, in its old form (pooling_mode_cls_token: true) and its new one
// (pooling_mode: "cls").

#include <string>
#include <string_view>

#include "weft/files/metadata.h"
#include "weft/files/pooling.h"

namespace weft::safetensors {

// Adds ARCH.pooling_type, or kPoolingKey for poolings that have no number there.
void add_pooling(const Poolings& poolings, std::string_view arch, MetadataSink& sink);

// Adds the poolings of the file, and returns whether it exists. Throws UnsupportedError for unknown
// ones.
bool read_pooling(const std::string& file, std::string_view arch, MetadataSink& sink);

}  // namespace weft::safetensors
