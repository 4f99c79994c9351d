#pragma once
// Archives of .npy arrays, as numpy.savez and numpy.savez_compressed write them.

#include <string>

#include "weft/check/verify_model.h"

namespace weft::tools {

// All arrays of the archive by name without ".npy". Throws IoError, and FormatError if it is not
// an archive, is damaged, encrypted or larger than 4 GiB, or has types other than floats.
Dump read_npz(const std::string& path);

}  // namespace weft::tools
