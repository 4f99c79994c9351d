#pragma once
// The header of a safetensors file: its tensors, checked against its size. Nothing is copied.
//
//   length     of the header, u64, little-endian
//   header     JSON, followed by spaces: {"NAME": {"dtype": "BF16", "shape": [2, 3],
//              "data_offsets": [0, 12]}, .., "__metadata__": {"KEY": "TEXT"}}
//   data       of the tensors, without gaps; offsets count from here
//
// Format: https://huggingface.co/docs/safetensors/index#format

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/dtype.h"

namespace weft::safetensors {

struct StoredTensor {
  std::string name;
  std::string type_name;            // as in the file
  DType type;                       // invalid for types that Weft cannot compute with
  std::vector<std::int64_t> shape;  // slowest dimension first; dimensions may be 0
  std::uint64_t offset = 0;         // in the file
  std::uint64_t n_bytes = 0;
};

// The tensors in the order of their data. Throws FormatError "FILE: tensor 'x': ..." for overlaps,
// gaps, wrong sizes, duplicate names, and Git LFS pointers; UnsupportedError for unknown types.
// Data may be unaligned.
std::vector<StoredTensor> parse_header(std::span<const std::byte> bytes, const std::string& file);

}  // namespace weft::safetensors
