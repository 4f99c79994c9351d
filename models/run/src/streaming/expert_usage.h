#pragma once
// A small file that keeps how often each expert was chosen. The next session of the model begins by
// reading the experts that were chosen most often.
//
// The file, little-endian: "weftexp1"; u64 tensor_table() of the model; u32 number of groups; for
// each group the u32 number of its experts and their f32 frequencies, 0..1; XXH3-64 of all that.
// The frequencies change speed alone, never results.

#include <string>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/run/residency.h"

namespace weft::run {

using ExpertUsage = std::vector<std::vector<float>>;  // by group, by expert

// Empty if there is no such file. Throws IoError if it cannot be read, FormatError if it is damaged
// or of another model.
ExpertUsage read_usage(const std::string& path, const Checkpoint& file, const Residency& residency);
// Replaces the file. Throws IoError, and FormatError if there is another kind of file.
void write_usage(const std::string& path, const Checkpoint& file, const ExpertUsage& usage);

}  // namespace weft::run
