#pragma once
// Opens a Hugging Face directory as the GGUF file that it would be converted to. Large tensors stay
// in the mapped shards. Data that differs in GGUF files (norms and biases that are not F32, the
// divisors of rope, all metadata) is converted once, when the directory is opened.

#include <string>

#include "weft/files/checkpoint.h"

#include "file_part.h"

namespace weft::safetensors {

// Part 0 is the directory itself; the shards follow. Throws IoError if something is missing,
// FormatError and UnsupportedError.
files::OpenedFiles open_directory(const std::string& path, const OpenOptions& options);

}  // namespace weft::safetensors
