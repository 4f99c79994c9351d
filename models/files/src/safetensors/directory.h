#pragma once
// A directory in the form of Hugging Face, as the parts of the GGUF file that it would become.
// Large tensors stay where they are in the mapped shards. What has another form there than GGUF
// files have it (norms and biases that are not F32, the divisors of rope, all metadata) is made
// once when the directory is opened, and lies in an anonymous file, so that its pages can be let go
// and come back like those of any other part.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/files/mapped_file.h"

#include "gguf/part.h"

namespace weft::safetensors {

struct Directory {
  std::vector<std::string> paths;  // the directory itself, then the shards: parts of tensors
  std::vector<MappedFile> maps;
  gguf::Part head;  // metadata and small tensors, which view maps.front(), and the rest
  std::shared_ptr<const std::vector<std::string>> names;  // of the rest
  std::int64_t file_bytes = 0;                            // of the shards
};

// Throws IoError for what is missing, FormatError and UnsupportedError.
Directory open_directory(const std::string& path);

}  // namespace weft::safetensors
