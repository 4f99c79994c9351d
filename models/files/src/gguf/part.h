#pragma once
// GGUF files: the header, metadata and tensor table, checked against the bytes of the file.

#include <cstddef>
#include <span>
#include <string>

#include "file_part.h"

namespace weft::gguf {

files::FilePart parse_part(std::span<const std::byte> bytes, const std::string& file);

// A file, or the first part of a split one. Throws IoError, FormatError, UnsupportedError.
files::OpenedFiles open_files(const std::string& path);

// A whole file in memory; `name` is its path for messages.
files::FilePart parse_whole(std::span<const std::byte> bytes, const std::string& name);

}  // namespace weft::gguf
