#pragma once
// Pointers of Git LFS: the small files that a clone of a repository has if Git LFS is missing.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::files {

// Throws FormatError if the bytes are a pointer. Format: https://github.com/git-lfs/git-lfs/blob/
// main/docs/spec.md
inline void refuse_lfs_pointer(std::span<const std::byte> bytes, const std::string& file) {
  constexpr std::string_view kBegin = "version https://git-lfs.github.com/spec/";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kBegin)) return;
  fail<FormatError>(
      "{}: is a Git LFS pointer of {} bytes, not the file itself; run git lfs pull, or download "
      "the file",
      printable_path(file), bytes.size());
}

}  // namespace weft::files
