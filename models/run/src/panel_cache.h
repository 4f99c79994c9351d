#pragma once
// Resident weights in a file, from which a later start maps them instead of packing them again.
//
// The file, little-endian: "weftpnl1"; u64 hash of the layout; u64 n; zeros up to byte 4096; the n
// bytes of the region (weight_layout.h). Its name has the model's and the hash.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/files/mapped_file.h"

#include "weight_layout.h"

namespace weft::run {

class PanelCache {
 public:
  // Of the model `file` with this layout.
  PanelCache(const std::string& folder, const Checkpoint& file, const WeightLayout& layout);

  const std::string& path() const { return path_; }
  // None if there is no such file. Throws IoError if it cannot be mapped, FormatError if it is
  // damaged or of something else. Does not check the region's contents.
  std::optional<MappedFile> open() const;
  // Of an open file.
  std::span<const std::byte> region(const MappedFile& file) const;
  // Replaces the file, and makes the folder if it is missing. Throws IoError.
  void store(std::span<const std::byte> region) const;

 private:
  std::string path_;
  std::uint64_t hash_;
  std::uint64_t n_bytes_;
};

}  // namespace weft::run
