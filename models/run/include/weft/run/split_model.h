#pragma once
// Files of single ranks, for machines that have no room for a model, or no way to share its file.
// Model::load() and follow_rank_0() read them in place of the model's file: a folder with
// "rank-0-of-4.gguf" (rank_file_name(), weft/files/rank_file.h) is opened at the file of the rank,
// and a rank's file must have been written for the same sharding. Ranks in one process need the
// files of all ranks in one folder.

#include <functional>
#include <string>

#include "weft/run/model.h"

namespace weft {

// Writes what a rank needs of a model: its metadata, the list of its tensors, and the rank's parts
// of them. The file appears under its name when it is complete and synced. `progress` gets 0..1,
// may be empty, and returns false to stop. Throws ValueError if the model was loaded with a
// sharding or with adapters, if the sharding does not divide it, or if the path is a file of the
// model; UnsupportedError for models with an encoder; IoError; CancelledError.
void write_part_of_rank(const Model& model, const Sharding& sharding, int rank,
                        const std::string& path, const std::function<bool(double)>& progress = {});

}  // namespace weft
