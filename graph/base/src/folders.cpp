#include "weft/base/folders.h"

#include <cerrno>
#include <filesystem>

#include <sys/stat.h>

namespace weft {

void make_private_folders(const std::string& path, std::error_code& error) {
  std::filesystem::path folder;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    folder /= part;
    if (::mkdir(folder.c_str(), S_IRWXU) == 0) continue;
    const int code = errno;
    if (std::filesystem::is_directory(folder, error)) continue;
    error = std::error_code(code, std::generic_category());
    return;
  }
  error.clear();
}

}  // namespace weft
