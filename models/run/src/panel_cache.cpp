#include "panel_cache.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/files/output_file.h"

namespace weft::run {
namespace {

constexpr std::string_view kCacheMagic = "weftpnl1";
constexpr std::size_t kRegionAt = 4096;

struct Header {
  char magic[kCacheMagic.size()];
  std::uint64_t hash, n_bytes;
};

std::uint64_t hash_of(const WeightLayout& layout) {
  Checksum sum;
  const auto add_number = [&](std::int64_t n) { sum.add(std::as_bytes(std::span(&n, 1))); };
  const auto add_text = [&](std::string_view text) {
    add_number(std::ssize(text));
    sum.add(std::as_bytes(std::span(text)));
  };
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile) continue;
    add_text(w.tensor->name);
    add_text(w.tensor->spec.dtype.name());
    add_text(w.dtype.name());
    add_number(w.tensor->spec.shape.elems());
    add_number(w.offset);
  }
  add_number(layout.region_bytes);
  return sum.value();
}

}  // namespace

PanelCache::PanelCache(const std::string& folder, const Checkpoint& file,
                       const WeightLayout& layout)
    : hash_(hash_of(layout)), n_bytes_(static_cast<std::uint64_t>(layout.region_bytes)) {
  const std::string model = std::filesystem::path(file.path()).stem().string();
  path_ = (std::filesystem::path(folder) / fmt::format("{}-{:016x}.panels", model, hash_)).string();
}

std::optional<MappedFile> PanelCache::open() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return std::nullopt;
  MappedFile file(path_);
  const std::span<const std::byte> bytes = file.bytes();
  Header header{};
  if (bytes.size() >= kRegionAt) std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::string_view(header.magic, kCacheMagic.size()) != kCacheMagic)
    fail<FormatError>("{}: is not a panel cache", path_);
  if (header.hash != hash_ || header.n_bytes != n_bytes_)
    fail<FormatError>("{}: is the panel cache of another model, version or processor", path_);
  if (bytes.size() != kRegionAt + n_bytes_)
    fail<FormatError>("{}: expected {} bytes, got {}", path_, kRegionAt + n_bytes_, bytes.size());
  return file;
}

std::span<const std::byte> PanelCache::region(const MappedFile& file) const {
  return file.bytes().subspan(kRegionAt);
}

void PanelCache::store(std::span<const std::byte> region) const {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  OutputFile out(path_);
  out.reserve(kRegionAt + region.size());
  Header header{{}, hash_, n_bytes_};
  std::memcpy(header.magic, kCacheMagic.data(), kCacheMagic.size());
  std::array<std::byte, kRegionAt> begin{};
  std::memcpy(begin.data(), &header, sizeof(header));
  out.write(begin);
  out.write(region);
  out.commit();
}

}  // namespace weft::run
