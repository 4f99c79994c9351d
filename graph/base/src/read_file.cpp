#include "weft/base/read_file.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/opened_file.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

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
    if (more < 0) refuse_file(name, "cannot read");
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
  const OpenedFile file(path, special);
  const bool regular = S_ISREG(file.info().st_mode);
  return read_all(file.fd(), path, regular ? static_cast<std::size_t>(file.info().st_size) : 0,
                  max_bytes);
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
