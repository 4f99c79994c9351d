#include "streaming/packed_file.h"

#include <filesystem>

#include <fmt/format.h>

#include "weft/scheduler/budget.h"

namespace weft::run {
namespace {

// The folder, or its nearest parent that exists.
std::filesystem::path existing(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error))
    folder = folder.parent_path();
  return folder;
}

}  // namespace

std::string PackedFile::obstacle() const {
  std::error_code error;
  if (std::filesystem::exists(path(), error)) return {};
  const std::filesystem::path folder = std::filesystem::path(path()).parent_path();
  const auto space = std::filesystem::space(existing(folder), error);
  if (error) return fmt::format("{}: {}", folder.string(), error.message());
  if (space.available >= static_cast<std::uintmax_t>(cache_.file_bytes())) return {};
  return fmt::format("{} has room for {}, {} are needed", folder.string(),
                     human_bytes(static_cast<std::int64_t>(space.available)),
                     human_bytes(cache_.file_bytes()));
}

MappedFile PackedFile::open(Identity& identity, const LoadOptions& options) const {
  if (auto mapped = open_cached(model_, identity, cache_, layout_, options, false))
    return std::move(*mapped);
  store_packed(model_, identity, cache_, layout_, options);
  return MappedFile(path());
}

}  // namespace weft::run
