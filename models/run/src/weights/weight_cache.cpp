#include "weights/weight_cache.h"

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
#include "weft/base/folders.h"
#include "weft/files/identity.h"
#include "weft/files/output_file.h"

namespace weft::run {
namespace {

constexpr std::string_view kCacheMagic = "weftwgt1";
constexpr auto kHeaderBytes = static_cast<std::size_t>(WeightCache::kRegionAt);

struct Header {
  char magic[kCacheMagic.size()];
  std::uint64_t hash, n_bytes, region_checksum, contents;
  std::uint64_t header_checksum;  // checksum of the header before it
  std::uint64_t stamp;
};

std::uint64_t checksum_of(const Header& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_checksum)));
}

Header header_of(const MappedFile& file) {
  Header header{};
  if (file.bytes().size() >= kHeaderBytes)
    std::memcpy(&header, file.bytes().data(), sizeof(header));
  return header;
}

// Contents are only comparable for the same tensors.
std::uint64_t hash_of(const Checkpoint& file, const WeightLayout& layout) {
  Checksum sum;
  const auto add_number = [&](std::int64_t n) { sum.add(std::as_bytes(std::span(&n, 1))); };
  const auto add_text = [&](std::string_view text) {
    add_number(std::ssize(text));
    sum.add(std::as_bytes(std::span(text)));
  };
  add_number(static_cast<std::int64_t>(tensor_table(file)));
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile) continue;
    add_text(w.tensor->name);
    add_text(w.dtype.name());
    add_number(w.offset);
  }
  add_number(layout.region_bytes);
  return sum.value();
}

}  // namespace

WeightCache::WeightCache(const std::string& folder, const Checkpoint& file,
                         const WeightLayout& layout)
    : hash_(hash_of(file, layout)),
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
    fail<FormatError>(
        "{}: is the weight cache of another model, version or processor: {} bytes with layout "
        "{:016x}, expected {} with {:016x}",
        path_, header.n_bytes, header.hash, n_bytes_, hash_);
  if (header.header_checksum != checksum_of(header))
    fail<FormatError>("{}: is damaged: its header does not have its checksum", path_);
  if (bytes.size() != kHeaderBytes + n_bytes_)
    fail<FormatError>("{}: expected {} bytes, got {}", path_, kHeaderBytes + n_bytes_,
                      bytes.size());
  return file;
}

std::span<const std::byte> WeightCache::region(const MappedFile& file) const {
  return file.bytes().subspan(kHeaderBytes);
}

void WeightCache::check_region(const MappedFile& file, std::uint64_t checksum) const {
  const std::uint64_t expected = header_of(file).region_checksum;
  if (expected != checksum)
    fail<FormatError>("{}: is damaged: its weights have checksum {:016x}, expected {:016x}", path_,
                      checksum, expected);
}

std::uint64_t WeightCache::contents(const MappedFile& file) const {
  return header_of(file).contents;
}

bool WeightCache::has_stamp(const MappedFile& file) const {
  return stamp_ != 0 && header_of(file).stamp == stamp_;
}

void WeightCache::check_contents(const MappedFile& file, std::uint64_t contents) const {
  const std::uint64_t found = header_of(file).contents;
  if (found != contents)
    fail<FormatError>(
        "{}: was made of other weights than those of {}: checksum {:016x}, expected {:016x}", path_,
        model_, found, contents);
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

void WeightCache::store(const std::function<std::uint64_t(const Write&)>& write_region) const {
  std::error_code error;
  make_private_folders(std::filesystem::path(path_).parent_path().string(), error);
  OutputFile out(path_);
  out.reserve(static_cast<std::uint64_t>(file_bytes()));
  std::array<std::byte, kHeaderBytes> begin{};
  out.write(begin);
  Checksum sum;
  const std::uint64_t contents = write_region([&](std::span<const std::byte> bytes) {
    sum.add(bytes);
    out.write(bytes);
  });
  Header header{{}, hash_, n_bytes_, sum.value(), contents, 0, stamp_};
  std::memcpy(header.magic, kCacheMagic.data(), kCacheMagic.size());
  header.header_checksum = checksum_of(header);
  out.overwrite(0, std::as_bytes(std::span(&header, 1)));
  out.commit();
}

}  // namespace weft::run
