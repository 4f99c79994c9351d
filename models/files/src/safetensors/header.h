#pragma once
// One safetensors file: which tensors it holds, checked against its bytes. Nothing is copied.
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
  std::string type_name;            // as the file spells it
  DType type;                       // names none for types that nothing here computes with
  std::vector<std::int64_t> shape;  // slowest dimension first; dimensions may be 0
  std::uint64_t offset = 0;         // in the file
  std::uint64_t n_bytes = 0;
};

// In the order of their data. Throws FormatError "FILE: tensor 'x': ..." for whatever breaks the
// format (overlaps, gaps, sizes that do not fit, names that appear twice, data that is not aligned
// to its elements), UnsupportedError for types that the format does not know.
std::vector<StoredTensor> parse_header(std::span<const std::byte> bytes, const std::string& file);

}  // namespace weft::safetensors
