#pragma once
// What a model file holds, as JSON: header, metadata and the table of tensors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include "weft/files/checkpoint.h"

namespace weft {

// Counts of tensors, of their elements and bytes.
struct TensorTotals {
  struct Sum {
    std::int64_t tensors = 0, elems = 0, bytes = 0;
    double bits() const;  // per element; 0 if there is none
  };
  Sum all;
  std::map<std::int32_t, std::pair<DType, Sum>> by_type;  // by the type's number in the format

  explicit TensorTotals(std::span<const CheckpointTensor> tensors);
};

// The shortest decimal that reads back as the number that the file holds.
std::string shortest_decimal(double value, MetaType type);

// Everything, as an object with a line for each key and tensor and a newline at the end:
// {"files", "version", "alignment", "bytes", "metadata": {KEY: {"type", "value"}}, "tensors":
// [{"name", "type", "shape" (slowest dimension first), "bytes", "offset", "part"}], "types",
// "totals"}. Texts that are not UTF-8 become {"hex": "..."}; numbers that are not finite become
// texts; bytes of keys that are not UTF-8 are escaped.
void write_json(std::ostream& out, const Checkpoint& file);

// All keys with their values, as an object: {"general.name": "x", ...}. Values are written as
// above. Arrays of more than `max_elements` become their length: {"length": 32000}.
std::string metadata_json(const Checkpoint& file, std::size_t max_elements);

}  // namespace weft
