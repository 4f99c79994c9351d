#pragma once
// A directory in the form of Hugging Face, as the GGUF file that it would become. Large tensors
// stay where they are in the mapped shards. What has another form there than GGUF files have it
// (norms and biases that are not F32, the divisors of rope, all metadata) is made once when the
// directory is opened.

#include <string>

#include "file_part.h"

namespace weft::safetensors {

// The directory itself is part 0, the shards follow. Throws IoError if something is missing,
// FormatError and UnsupportedError.
files::OpenedFiles open_directory(const std::string& path);

}  // namespace weft::safetensors
