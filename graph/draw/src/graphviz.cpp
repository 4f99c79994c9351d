#include "weft/draw/graphviz.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/error.h"

extern char** environ;

namespace weft::draw {
namespace {

// An unnamed file for input or output, since a pipe could fill up and block.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) fail<IoError>("cannot make a temporary file: {}", std::strerror(errno));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }

  int fd() const { return fd_; }
  void rewind() const { lseek(fd_, 0, SEEK_SET); }

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n < 0) fail<IoError>("cannot write a temporary file: {}", std::strerror(errno));
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  std::string read() const {
    std::string text;
    char block[1 << 16];
    for (ssize_t n; (n = ::read(fd_, block, sizeof block)) > 0;)
      text.append(block, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int fd_;
};

}  // namespace

std::string render(std::string_view text, const std::string& format) {
  const MemoryFile in("dot-in"), out("dot-out");
  in.write(text);
  in.rewind();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  std::string program = "dot", flag = "-T" + format;
  char* argv[] = {program.data(), flag.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, "dot", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    fail<UnsupportedError>(
        "the program 'dot' is not installed (package graphviz); text in DOT does not need it");
  }
  if (error != 0) fail<IoError>("cannot run 'dot': {}", std::strerror(error));

  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) fail<IoError>("'dot -T{}' failed (status {:#x})", format, status);
  out.rewind();
  return out.read();
}

}  // namespace weft::draw
