#pragma once
// Model files with random weights, for checking builders and kernels and for measuring speed.

#include <functional>
#include <string>
#include <vector>

#include "weft/arch/made_source.h"

namespace weft {

struct MadeWeights {
  // Called with the values of every small tensor before they are encoded; may be empty.
  std::function<void(const std::string& name, std::vector<float>& values)> change;
  // Called with 0..1; may be empty. Return false to stop (CancelledError).
  std::function<bool(double)> progress;
};

// Writes the tensors that the source has so far. Norm weights are near 1, biases are near 0,
// matrices preserve the magnitude of activations, and the rates at which recurrent states fade
// (ssm_a) are negative, so that logits are finite and of ordinary magnitude. The same source gives
// the same bytes. Large tensors are composed of a pool of encoded pieces, as fast as the file is
// written; this needs a few MiB of memory. Throws ValueError for a key that no file can hold,
// ShapeError if rows are not whole blocks of their type, IoError, CancelledError.
void write_made_model(const arch::MadeSource& source, const std::string& path,
                      const MadeWeights& weights = {});

}  // namespace weft
