#pragma once
// Which file a rank reads.

#include <cstdint>
#include <string>

#include "weft/files/checkpoint.h"
#include "weft/run/model.h"

namespace weft::run {

// The model at a path, or the file of this rank if that is a folder with files of ranks; the first
// of them for one rank. Throws IoError "parts: has no rank-1-of-2.gguf, which rank 1 of tp=2 needs,
// only rank-0-of-2.gguf"; and like Checkpoint::open().
Checkpoint open_for_rank(const std::string& path, const ModelOptions& options, int rank);

// The model as this rank sees it: `file`, unless that is of a rank; then what it says about the
// model, or what the file of this rank in the same folder says. Throws ValueError if it is for
// another sharding or rank; IoError, FormatError.
Checkpoint model_for_rank(const Checkpoint& file, const Sharding& sharding, int rank);

// Finds files with the same header and other weights, if they differ at the beginning of a tensor.
// Files of ranks have that of their model.
std::uint64_t sample_of_weights(const Checkpoint& file);

}  // namespace weft::run
