#pragma once
// A file that appears under its name only when it is complete: written without a name in the
// target's folder, flushed to the device, and given its name by commit(). Without commit (an
// exception, an early return, the end of the process) nothing is left behind and an older file of
// that name stays as it was. On file systems without nameless files it is written next to the
// target as TARGET.PID-N.tmp, which a process that is killed leaves there. A target that is no
// regular file (a pipe, /dev/stdout) is written to directly. One thread at a time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class OutputFile {
 public:
  explicit OutputFile(std::string path);  // throws IoError
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Asks the system for room for a file of that size. Throws IoError where there is none; systems
  // that cannot tell are believed to have it.
  void reserve(std::uint64_t n_bytes);

  // Both throw IoError, for example when the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();  // throws IoError. REQUIRES: called at most once, after the last write.

  std::uint64_t bytes_written() const { return written_; }

 private:
  void flush();
  void write_out(std::span<const std::byte> bytes);
  void name_it();
  void check(bool ok, const char* what) const;

  std::string path_;       // as given
  std::string target_;     // with symbolic links followed
  std::string temporary_;  // empty where there is no file of that name
  bool nameless_ = false;
  int fd_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

}  // namespace weft
