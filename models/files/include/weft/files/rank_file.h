#pragma once
// The file of one rank of a model that is divided among ranks: a GGUF file with the metadata of the
// model, the list of its tensors (keys weft.split.*, weft_keys.h), and the bytes of those parts of
// tensors that this rank needs, as tensors "part.0", "part.1", ...

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/files/checkpoint.h"

namespace weft {

// What the file of a rank says about itself.
struct RankFileFacts {
  std::string sharding;        // "tp=2,pp=2"
  std::int64_t min_elems = 0;  // Sharding::min_elems
  std::int64_t rank = 0, ranks = 1;
  std::uint64_t sample = 0;  // a hash of some of the model's weights
};

// "rank-0-of-4.gguf"
std::string rank_file_name(std::int64_t rank, std::int64_t ranks);
// The names of files like that in a folder, sorted; empty for other paths. Throws IoError if the
// system fails to list the folder to its end.
std::vector<std::string> rank_files_in(const std::string& folder);

// Writes the file of a rank that needs these parts; it appears under its name when it is complete
// and synced. `progress` gets 0..1 and returns false to stop; may be empty. Throws ValueError like
// with_parts() and check_output(), IoError, CancelledError.
void write_rank_file(const Checkpoint& model, std::span<const TensorPart> parts,
                     const RankFileFacts& facts, const std::string& path,
                     const std::function<bool(double)>& progress = {});

// None for a file that is not of a rank. Throws FormatError for keys that are missing or wrong.
std::optional<RankFileFacts> rank_file_facts(const Checkpoint& file);

// The model that the file of a rank is of: its tensors are all those of the model, absent (see
// CheckpointTensor), and with_parts() finds the parts that the file has. Throws FormatError.
// REQUIRES: rank_file_facts(file).
Checkpoint model_of_rank_file(const Checkpoint& file);

}  // namespace weft
