#pragma once
// The reference data that is not part of the repository: WEFT_REFERENCE, or the folder
// shared/reference beside the source tree. Tests that use it return when it is absent and say so.

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <doctest/doctest.h>

#include "support/source_tree.h"

namespace weft::test {

// The folder `part` of the reference data, for example "golden/quants"; nullopt, with a message,
// if it is absent.
inline std::optional<std::filesystem::path> reference(const std::filesystem::path& part) {
  const char* root = std::getenv("WEFT_REFERENCE");
  const std::filesystem::path path =
      (root ? std::filesystem::path(root) : source_tree() / "../shared/reference") / part;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  MESSAGE("skipped: no reference data at " << path.string());
  return std::nullopt;
}

}  // namespace weft::test
