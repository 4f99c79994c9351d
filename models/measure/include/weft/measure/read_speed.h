#pragma once
// The speed at which a file can be read while steps run.

#include <cstdint>
#include <string>

namespace weft::bench {

struct ReadSpeed {
  int depth = 0;           // reads in progress
  std::int64_t block = 0;  // bytes of each
  double bytes_per_second = 0;
  std::string reader = {};  // "io_uring, direct"
};

// Bytes of a file. Throws IoError if it is none.
std::int64_t readable_bytes(const std::string& path);

// Reads blocks at random places for about that time. `about` says how. Throws IoError, and
// ValueError if the file is smaller than a block.
ReadSpeed measure_read_speed(const std::string& path, const ReadSpeed& about, double seconds);

}  // namespace weft::bench
