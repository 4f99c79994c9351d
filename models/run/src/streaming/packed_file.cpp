#include "streaming/packed_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/files/tensor_pages.h"
#include "weft/graph/row_layout.h"

#include "weights/weight_chunks.h"

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

// The rows of a chunk as they are in the region. Chunks are whole granules of the layout, except
// for the last one of a weight, so they are packed as tensors of their own.
std::vector<std::byte> packed_rows(const Chunk& c) {
  const PlacedWeight& w = *c.weight;
  std::vector<std::byte> rows(c.n_bytes());
  copy_rows(*w.tensor, c.first, c.last, rows.data());
  if (w.dtype == w.tensor->spec.dtype) return rows;
  const std::int64_t n = c.last - c.first;
  const std::int64_t row_bytes = w.dtype.bytes(w.tensor->spec.shape.elems() / c.n_rows);
  std::vector<std::byte> packed(static_cast<std::size_t>(n * row_bytes));
  w.dtype.layout()->pack(w.dtype, rows.data(), packed.data(), n, c.row_bytes, 0, n);
  return packed;
}

}  // namespace

std::string PackedFile::obstacle() const {
  try {
    if (cache_.open()) return {};
  } catch (const Error&) {
    // It has to be replaced, for which there must be room beside it.
  }
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path()).parent_path();
  const std::filesystem::path parent = existing(folder);
  if (::access(parent.c_str(), W_OK | X_OK) != 0)
    return fmt::format("{}: {}", folder.string(), std::generic_category().message(errno));
  const auto space = std::filesystem::space(parent, error);
  if (error) return fmt::format("{}: {}", folder.string(), error.message());
  if (space.available >= static_cast<std::uintmax_t>(cache_.file_bytes())) return {};
  return fmt::format("{} has room for {}, {} are needed", folder.string(),
                     human_bytes(static_cast<std::int64_t>(space.available)),
                     human_bytes(cache_.file_bytes()));
}

MappedFile PackedFile::open(Identity& identity, const LoadOptions& options) const {
  if (auto mapped = open_cached(model_, identity, cache_, layout_, options, false))
    return std::move(*mapped);
  cache_.store([&](const WeightCache::Write& write) {
    write_region(write, options);
    const std::uint64_t contents = identity.contents(read_options(options));
    model_.check_mapped();
    model_.check_unchanged();
    return contents;
  });
  if (auto mapped = open_cached(model_, identity, cache_, layout_, options, false))
    return std::move(*mapped);
  fail<IoError>("{}: was replaced as soon as it was written", path());
}

void PackedFile::write_region(const WeightCache::Write& write, const LoadOptions& options) const {
  std::int64_t at = 0;  // in the region
  const auto fill_up = [&](std::int64_t end) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(end - at));
    write(zeros);
    at = end;
  };
  for (const Chunk& chunk : region_chunks(layout_)) {
    const auto done = static_cast<double>(at) / static_cast<double>(layout_.region_bytes);
    if (options.progress && !options.progress(done)) fail<CancelledError>("packing was cancelled");
    if (chunk.first == 0) fill_up(chunk.weight->offset);
    prefault(model_, chunk);
    const std::vector<std::byte> rows = packed_rows(chunk);
    write(rows);
    at += std::ssize(rows);
    for (const RowSource& from : chunk.sources()) unmap_source(from);
  }
  fill_up(layout_.region_bytes);
}

}  // namespace weft::run
