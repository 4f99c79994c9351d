#pragma once
// Code shared by readers of adapter files: keys and numbers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"

namespace weft::adapters {

// Opens a GGUF file. Throws FormatError for a directory.
Checkpoint open_adapter(const std::string& path);

// Throws FormatError "FILE: not an adapter: key 'general.type' must be 'adapter', got 'model'"
// unless the key has this value.
void expect_text(const Checkpoint& file, std::string_view key, std::string_view value,
                 std::string_view what);

// Throws UnsupportedError if Weft cannot read the type of the tensor, FormatError "FILE: tensor 'T'
// holds nan at element 5" if a number is not finite.
void check_values(const Checkpoint& file, const CheckpointTensor& tensor);

// The columns of a matrix as rows.
std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t cols);

}  // namespace weft::adapters
