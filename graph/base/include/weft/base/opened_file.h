#pragma once
// A file that is open for reading, for those who read or map its bytes.

#include <string>
#include <string_view>

#include <sys/stat.h>

#include "weft/base/read_file.h"

namespace weft {

// Closes a file descriptor, unless it is below 0.
struct Descriptor {
  int fd;
  explicit Descriptor(int owned) : fd(owned) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

class OpenedFile {
 public:
  // Throws IoError, with the path and the reason, for a file that cannot be opened, a directory,
  // and files that are not regular if they are refused. Refusing them never waits for a pipe's
  // writer.
  OpenedFile(const std::string& path, SpecialFiles special);

  int fd() const { return descriptor_.fd; }
  const struct stat& info() const { return info_; }  // as it was opened

 private:
  Descriptor descriptor_;
  struct stat info_ {};
};

// Throws IoError "PATH: PROBLEM: REASON", with the reason from errno.
[[noreturn]] void refuse_file(const std::string& path, std::string_view problem);

}  // namespace weft
