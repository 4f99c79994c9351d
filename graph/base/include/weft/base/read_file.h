#pragma once
// Whole files in memory. Weights are mapped instead: weft/files/mapped_file.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weft {

inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;
// A limit for data of any size, such as matrices: std::bad_alloc if it does not fit into memory.
inline constexpr std::size_t kUnlimitedBytes = SIZE_MAX;

// Files that are not regular (a pipe, a device) have no known size, and may never end.
enum class SpecialFiles {
  read,    // until its end, waiting for writers: for files that users name, as in -f <(command)
  refuse,  // without waiting: for files found in folders
};

// All bytes of a file, also of files in /proc and /sys, which claim to be empty. Throws IoError
// "PATH: cannot open: No such file or directory" for files that cannot be read and for directories;
// FormatError for more than `max_bytes`, without reading the rest.
std::string read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes,
                      SpecialFiles special = SpecialFiles::read);

// The same for files that may be missing: nullopt for all errors of read_file().
std::optional<std::string> try_read_file(const std::string& path,
                                         std::size_t max_bytes = kMaxFileBytes);

// All bytes of stdin. Throws like read_file(), with the name "stdin".
std::string read_stdin(std::size_t max_bytes = kMaxFileBytes);

}  // namespace weft
