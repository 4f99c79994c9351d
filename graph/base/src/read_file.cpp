#include "weft/base/read_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

[[noreturn]] void refuse(const std::string& name, std::string_view problem) {
  const int reason = errno;
  fail<IoError>("{}: {}: {}", printable_path(name), problem, std::strerror(reason));
}

// Reads to the end, in blocks. The size of a file is a hint: it may change, or be 0 in /proc.
std::string read_all(int fd, const std::string& name, std::size_t size, std::size_t max_bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  if (size > max_bytes)
    fail<FormatError>("{}: has {} bytes, at most {} are supported", printable_path(name), size,
                      max_bytes);
  std::string bytes;
  bytes.resize(std::max(size + 1, kBlock));  // one more: the end is seen without another block
  std::size_t n = 0;
  for (;;) {
    const ssize_t more = ::read(fd, bytes.data() + n, bytes.size() - n);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) refuse(name, "cannot read");
    if (more == 0) break;
    n += static_cast<std::size_t>(more);
    if (n > max_bytes)
      fail<FormatError>("{}: has more than the {} bytes that are supported", printable_path(name),
                        max_bytes);
    if (n == bytes.size()) bytes.resize(2 * n);
  }
  bytes.resize(n);
  return bytes;
}

}  // namespace

std::string read_file(const std::string& path, std::size_t max_bytes, SpecialFiles special) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int no_wait = special == SpecialFiles::refuse ? O_NONBLOCK : 0;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | no_wait);
  if (fd < 0) refuse(path, "cannot open");
  const Descriptor closes_itself{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0) refuse(path, "cannot examine");
  if (S_ISDIR(info.st_mode))
    fail<IoError>("{}: is a directory, expected a file", printable_path(path));
  const bool regular = S_ISREG(info.st_mode);
  if (!regular && special == SpecialFiles::refuse)
    fail<IoError>("{}: is not a regular file", printable_path(path));
  return read_all(fd, path, regular ? static_cast<std::size_t>(info.st_size) : 0, max_bytes);
}

std::optional<std::string> try_read_file(const std::string& path, std::size_t max_bytes) {
  try {
    return read_file(path, max_bytes);
  } catch (const IoError&) {
    return std::nullopt;
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

std::string read_stdin(std::size_t max_bytes) {
  return read_all(STDIN_FILENO, "stdin", 0, max_bytes);
}

}  // namespace weft
