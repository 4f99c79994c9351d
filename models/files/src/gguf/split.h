#pragma once
// Models split into several files, "NAME-00001-of-00003.gguf". Every part is a GGUF file with
// split.no (from 0) and split.count; the first one has the metadata, and each has some of the
// tensors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gguf/part.h"

namespace weft::gguf {

struct Split {
  std::uint64_t count = 1;
  std::optional<std::uint64_t> tensors;  // number in all parts together
};

// Reads the keys of the first part. Throws FormatError if it is a later part (the message names the
// first one).
Split read_split(const files::FilePart& first, const std::string& path);

// The path of part `index`. Throws FormatError if the name of the first part does not follow the
// convention.
std::string part_path(const std::string& first, const Split& split, std::uint64_t index);

void check_part(const files::FilePart& part, const Split& split, std::uint64_t index,
                const std::string& path);
// Throws FormatError "PART 2: tensor 'x' is also in PART 1: these are not parts of one model".
void check_distinct(const files::OpenedFiles& files);
void check_tensor_count(std::size_t count, const Split& split, const std::string& path);

}  // namespace weft::gguf
