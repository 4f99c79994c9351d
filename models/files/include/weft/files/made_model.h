#pragma once
// Model files with random weights, to check builders and kernels with and to measure speed.

#include <functional>
#include <string>
#include <vector>

#include "weft/arch/made_source.h"

namespace weft {

struct MadeWeights {
  // Called with the values of every small tensor before they are encoded; may be empty.
  std::function<void(const std::string& name, std::vector<float>& values)> change;
  // Gets the share that is done and returns false to stop; may be empty.
  std::function<bool(double)> progress;
};

// Writes the tensors that the source has by now. Norms multiply with numbers near 1, biases are
// near 0, matrices keep activations at their size, so that logits are finite and of ordinary
// magnitude. The same source gives the same bytes. Large tensors are drawn from a stock of encoded
// pieces, as fast as the file is written; memory needed is a few MiB. Throws ValueError for a key
// that no file can hold, ShapeError if rows are not whole blocks of their type, IoError,
// CancelledError.
void write_made_model(const MadeSource& source, const std::string& path,
                      const MadeWeights& weights = {});

}  // namespace weft
