#pragma once
// A file that appears under its name only when it is complete: written next to the target under
// another name, flushed to the device and renamed by commit(). Without commit (an exception, an
// early return) nothing is left behind and an older file of that name stays as it was. A target
// that is no regular file (a pipe, /dev/stdout) is written to directly. One thread at a time.

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

  // Both throw IoError, for example when the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();  // throws IoError. REQUIRES: called at most once, after the last write.

  std::uint64_t bytes_written() const { return written_; }

 private:
  void flush();
  void check(bool ok, const char* what) const;

  std::string path_;       // as given
  std::string target_;     // with symbolic links followed
  std::string temporary_;  // empty where the target is written directly or already committed
  int fd_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

}  // namespace weft
