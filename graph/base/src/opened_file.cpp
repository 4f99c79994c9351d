#include "weft/base/opened_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft {

void refuse_file(const std::string& path, std::string_view problem) {
  const int reason = errno;
  throw IoError(fmt::format("{}: {}: {}", printable_path(path), problem, std::strerror(reason)),
                reason);
}

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

OpenedFile::OpenedFile(const std::string& path, SpecialFiles special)
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC |
                                           (special == SpecialFiles::refuse ? O_NONBLOCK : 0))) {
  if (fd() < 0) refuse_file(path, "cannot open");
  if (::fstat(fd(), &info_) != 0) refuse_file(path, "cannot examine");
  if (S_ISDIR(info_.st_mode))
    throw IoError(fmt::format("{}: is a directory, expected a file", printable_path(path)), EISDIR);
  if (!S_ISREG(info_.st_mode) && special == SpecialFiles::refuse)
    fail<IoError>("{}: is not a regular file", printable_path(path));
}

}  // namespace weft
