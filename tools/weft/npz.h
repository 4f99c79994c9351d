#pragma once
// Archives of .npy arrays, as numpy.savez and numpy.savez_compressed write them.

#include <string>

#include "weft/check/verify_model.h"

namespace weft::tools {

// Every array of the archive under its name without ".npy". Throws IoError, and FormatError for
// what is no such archive, damaged, encrypted, of more than 4 GiB, or holds other types than
// floats.
Dump read_npz(const std::string& path);

}  // namespace weft::tools
