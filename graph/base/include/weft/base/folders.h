#pragma once
// Folders that Weft makes for itself.

#include <string>
#include <system_error>

namespace weft {

// Makes the folder and those above it that are missing, for their owner alone (mode 0700). Existing
// ones stay as they are.
void make_private_folders(const std::string& path, std::error_code& error);

}  // namespace weft
