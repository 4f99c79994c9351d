#pragma once
// Writes a directory of safetensors as a GGUF file.

#include <functional>
#include <string>

#include "weft/files/checkpoint.h"
#include "weft/graph/dtype.h"

namespace weft {

struct ConvertOptions {
  DType matrices;                // F32, F16 or BF16; none: unchanged. Norms and biases stay F32
  bool allow_nonfinite = false;  // allow infinite and NaN weights in input and output
  std::function<bool(double)> progress;  // 0..1; false: CancelledError
};

// Writes the model of Checkpoint::open(directory), a piece of a tensor at a time; the file appears
// under its name when it is complete and synced. Throws IoError, CancelledError, FormatError "DIR:
// tensor 'T' holds nan at element 5" for weights that are not finite, or not finite in their new
// type.
void write_gguf(const Checkpoint& file, const std::string& path,
                const ConvertOptions& options = {});

}  // namespace weft
