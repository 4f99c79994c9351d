#pragma once
// The safetensors files of a directory: model.safetensors, or the shards that
// model.safetensors.index.json names.

#include <string>
#include <vector>

#include "weft/files/mapped_file.h"

#include "safetensors/header.h"

namespace weft::safetensors {

struct Shard {
  std::string path;
  MappedFile map;
  std::vector<StoredTensor> tensors;
};

// One file. Throws IoError, and like parse_header().
Shard open_shard(const std::string& path);

// Throws IoError and FormatError with the directory and the missing files, and like parse_header().
// Names of tensors are unique.
std::vector<Shard> open_shards(const std::string& directory);

}  // namespace weft::safetensors
