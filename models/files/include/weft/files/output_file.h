#pragma once
// A file that appears under its name only when it is complete: written without a name in the
// target's folder, flushed to the device, and given its name by commit(). Without commit (an
// exception, an early return, the end of the process) nothing is left behind and an older file of
// that name stays as it was. On file systems without unnamed files it is written next to the
// target as TARGET.PID-N.tmp, which stays behind if the process is killed. A target that is not
// a regular file (a pipe, /dev/stdout) is written to directly. If a mapped file loses bytes
// meanwhile (mapping_guard.h), commit() refuses, since the output may be made of them. One thread
// at a time.
//
// A file that others may not read stays so when it is replaced: it never gets permissions that the
// older one did not have.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/mapping_guard.h"

namespace weft {

enum class Readers : std::uint8_t {
  anyone,  // as the process's umask says
  owner,   // alone: for what people wrote, or models wrote to them
};

class OutputFile {
 public:
  explicit OutputFile(std::string path, Readers readers = Readers::anyone);  // throws IoError
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Reserves disk space for a file of that size. Throws IoError if there is not enough; does
  // nothing if the file system does not support it.
  void reserve(std::uint64_t n_bytes);

  // Both throw IoError, for example when the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Replaces bytes that were written before. REQUIRES: the target is a regular file.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);  // throws IoError
  void commit();  // throws IoError. REQUIRES: called at most once, after the last write.

  std::uint64_t bytes_written() const { return written_; }

 private:
  void flush();
  void write_out(std::span<const std::byte> bytes);
  void link_into_place();
  void check(bool ok, const char* what) const;
  void open_target(Readers readers);

  std::string path_;       // as given
  std::string target_;     // with symbolic links followed
  std::string temporary_;  // empty if there is none
  bool nameless_ = false;
  int fd_ = -1;
  std::uint32_t missing_pages_ = n_missing_pages();  // before anything was written
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

}  // namespace weft
