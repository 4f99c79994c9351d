#pragma once
// Weights in the layout of kernels in a file, from which a later start maps or streams them instead
// of packing them again.
//
// The file, little-endian: "weftwgt1"; u64 hash of the model's tensor_table() and the layout; u64
// n; u64 checksum of the region; u64 contents of the model (weft/files/identity.h); XXH3-64 of
// everything before it; u64 stamp of the model's files, 0 if they had none; zeros up to byte 4096;
// the n bytes of the region (weight_layout.h). Its name has the model's and the hash.
//
// A file is used if its header and its region have their checksums, and if the model's files have
// their stamp or, for copied, touched and just written files, the model its contents. The stamp is
// not part of the header's checksum, because processes write it in place; a damaged one is that of
// no file, and the contents are read.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "weft/files/mapped_file.h"

#include "weights/weight_layout.h"

namespace weft::run {

class WeightCache {
 public:
  // The cache for the model `file` with this layout.
  WeightCache(const std::string& folder, const Checkpoint& file, const WeightLayout& layout);

  const std::string& path() const { return path_; }
  // None if there is no such file. Throws IoError if it cannot be mapped, FormatError if it is
  // damaged or not a weight cache. Checks neither the region nor which weights it was made of.
  std::optional<MappedFile> open() const;
  // REQUIRES: `file` is from open().
  std::span<const std::byte> region(const MappedFile& file) const;
  std::uint64_t contents(const MappedFile& file) const;  // Identity::contents of its model
  // Throws FormatError if that is not the checksum of the region.
  void check_region(const MappedFile& file, std::uint64_t checksum) const;
  // Whether the file was made of the model's files with the stamp that they have.
  bool has_stamp(const MappedFile& file) const;
  // Throws FormatError if the file was made of a model with other contents. Otherwise keeps the
  // stamp of the model's files, if it can, so that the next start need not read the weights.
  void check_contents(const MappedFile& file, std::uint64_t contents) const;
  // Appends bytes to the region.
  using Write = std::function<void(std::span<const std::byte>)>;
  // Replaces the file, and makes the folder if it is missing. `write_region` writes the region from
  // its beginning to its end, and then returns the contents of the model. Throws IoError, and any
  // exception of `write_region`.
  void store(const std::function<std::uint64_t(const Write&)>& write_region) const;

  // Where the region begins in the file, and the size of all of it.
  static constexpr std::int64_t kRegionAt = 4096;
  std::int64_t file_bytes() const { return kRegionAt + static_cast<std::int64_t>(n_bytes_); }

 private:
  std::string path_;
  std::uint64_t hash_;
  std::uint64_t n_bytes_;
  std::uint64_t stamp_;  // 0: none
  std::string model_;    // path, for messages
};

}  // namespace weft::run
