#include "weight_cache.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/files/output_file.h"

namespace weft::run {
namespace {

constexpr std::string_view kCacheMagic = "weftwgt1";
constexpr std::size_t kRegionAt = 4096;

struct Header {
  char magic[kCacheMagic.size()];
  std::uint64_t hash, n_bytes, region_checksum, weights_checksum, stamp;
};

Header header_of(const MappedFile& file) {
  Header header{};
  if (file.bytes().size() >= kRegionAt) std::memcpy(&header, file.bytes().data(), sizeof(header));
  return header;
}

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
    for (const RowRun& run : w.tensor->runs) {
      for (const std::int64_t n :
           {run.first, run.n_rows, run.row_stride, run.elem_stride, run.inner, run.outer_stride,
            std::int64_t{run.part}, static_cast<std::int64_t>(run.file_offset)})
        add_number(n);
    }
  }
  add_number(layout.region_bytes);
  return sum.value();
}

}  // namespace

WeightCache::WeightCache(const std::string& folder, const Checkpoint& file,
                         const WeightLayout& layout)
    : hash_(hash_of(layout)),
      n_bytes_(static_cast<std::uint64_t>(layout.region_bytes)),
      stamp_(file.stamp().value_or(0)),
      model_(file.path()) {
  const std::string model = std::filesystem::path(file.path()).stem().string();
  path_ =
      (std::filesystem::path(folder) / fmt::format("{}-{:016x}.weights", model, hash_)).string();
}

std::optional<MappedFile> WeightCache::open() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return std::nullopt;
  MappedFile file(path_);
  const std::span<const std::byte> bytes = file.bytes();
  const Header header = header_of(file);
  if (std::string_view(header.magic, kCacheMagic.size()) != kCacheMagic)
    fail<FormatError>("{}: is not a weight cache", path_);
  if (header.hash != hash_ || header.n_bytes != n_bytes_)
    fail<FormatError>("{}: is the weight cache of another model, version or processor", path_);
  if (bytes.size() != kRegionAt + n_bytes_)
    fail<FormatError>("{}: expected {} bytes, got {}", path_, kRegionAt + n_bytes_, bytes.size());
  return file;
}

std::span<const std::byte> WeightCache::region(const MappedFile& file) const {
  return file.bytes().subspan(kRegionAt);
}

void WeightCache::check_region(const MappedFile& file, std::uint64_t checksum) const {
  if (header_of(file).region_checksum != checksum)
    fail<FormatError>("{}: is damaged: its contents do not have their checksum", path_);
}

bool WeightCache::has_stamp(const MappedFile& file) const {
  return stamp_ != 0 && header_of(file).stamp == stamp_;
}

void WeightCache::check_weights(const MappedFile& file, std::uint64_t checksum) const {
  if (header_of(file).weights_checksum != checksum)
    fail<FormatError>("{}: was made of other weights than those of {}", path_, model_);
  if (stamp_ == 0) return;
  // Another process may have replaced the file by one of other weights.
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && file.stamp() && info.st_dev == file.stamp()->device &&
      info.st_ino == file.stamp()->inode) {
    // If it fails, the next start reads the weights again.
    [[maybe_unused]] const ssize_t n =
        ::pwrite(fd, &stamp_, sizeof stamp_, offsetof(Header, stamp));
  }
  ::close(fd);
}

void WeightCache::store(std::span<const std::byte> region, std::uint64_t weights_checksum) const {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  OutputFile out(path_);
  out.reserve(kRegionAt + region.size());
  Header header{{}, hash_, n_bytes_, checksum(region), weights_checksum, stamp_};
  std::memcpy(header.magic, kCacheMagic.data(), kCacheMagic.size());
  std::array<std::byte, kRegionAt> begin{};
  std::memcpy(begin.data(), &header, sizeof(header));
  out.write(begin);
  out.write(region);
  out.commit();
}

}  // namespace weft::run
