#include "arrays/npz.h"

#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/base/read_file.h"
#include "weft/files/checkpoint.h"
#include "weft/scheduler/budget.h"

#include "arrays/npy.h"

namespace weft::tools {
namespace {

// Reads the parts of a ZIP archive by its directory at the end. Format: PKWARE APPNOTE 6.3.
class Archive {
 public:
  explicit Archive(const std::string& path)
      : path_(path), bytes_(read_file(path, kUnlimitedBytes)) {}

  Dump read() {
    constexpr std::size_t kEnd = 22;
    const std::size_t at = bytes_.rfind("PK\x05\x06");
    if (bytes_.size() < kEnd || at == std::string::npos || at > bytes_.size() - kEnd)
      broken("the directory at its end is missing");
    const std::size_t n = u16(at + 10);
    std::size_t entry = u32(at + 16);
    Dump dump;
    // Entries may point anywhere, even to the same bytes, so their total is limited to the file.
    packed_left_ = bytes_.size();
    // Arrays of 16 bits need twice as much memory as floats, plus the one being read.
    unpacked_left_ = static_cast<std::size_t>(default_budget() / 3);
    for (std::size_t i = 0; i < n; ++i) entry = read_entry(entry, dump);
    return dump;
  }

 private:
  [[noreturn]] void broken(std::string_view what) const {
    fail<FormatError>("{}: must be a .npz archive of arrays, {}", path_, what);
  }
  std::size_t number(std::size_t at, int n_bytes) const {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<std::size_t>(n_bytes))
      broken("it is truncated");
    std::size_t value = 0;
    for (int i = n_bytes; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes_[at + static_cast<std::size_t>(i)]);
    return value;
  }
  std::size_t u16(std::size_t at) const { return number(at, 2); }
  std::size_t u32(std::size_t at) const { return number(at, 4); }
  std::string_view part(std::size_t at, std::size_t n) const {
    if (at > bytes_.size() || bytes_.size() - at < n) broken("it is truncated");
    return std::string_view(bytes_).substr(at, n);
  }
  std::string inflated(std::string_view packed, std::size_t n, const std::string& name) const;
  std::size_t read_entry(std::size_t at, Dump& dump);

  std::string path_, bytes_;
  std::size_t packed_left_ = 0, unpacked_left_ = 0;
};

std::string Archive::inflated(std::string_view packed, std::size_t n,
                              const std::string& name) const {
  // Deflate compresses at most by a factor of 1032, so larger claims are refused.
  if (n / 1040 > packed.size()) broken(fmt::format("'{}' claims {} bytes", name, n));
  std::string out(n, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(n);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail<Error>("cannot initialize zlib");
  const int end = inflate(&stream, Z_FINISH);
  const bool whole = end == Z_STREAM_END && stream.total_out == n;
  inflateEnd(&stream);
  if (!whole) broken(fmt::format("'{}' cannot be decompressed", name));
  return out;
}

// One entry of the directory; returns the offset of the next one.
std::size_t Archive::read_entry(std::size_t at, Dump& dump) {
  constexpr std::size_t kEntry = 46, kLocal = 30, kTooLarge = 0xffffffff;
  if (part(at, 4) != "PK\x01\x02") broken("its directory is damaged");
  const std::size_t flags = u16(at + 8), method = u16(at + 10), crc = u32(at + 16),
                    n_packed = u32(at + 20), n = u32(at + 24), n_name = u16(at + 28),
                    n_extra = u16(at + 30), n_comment = u16(at + 32), local = u32(at + 42);
  const std::string name(part(at + kEntry, n_name));
  const std::string shown = printable(name);
  if (n_packed == kTooLarge || n == kTooLarge || local == kTooLarge)
    broken(fmt::format("'{}' has more than 4 GiB", shown));
  if (flags & 1) broken(fmt::format("'{}' is encrypted", shown));
  if (method != 0 && method != 8)
    broken(fmt::format("'{}' is compressed with method {}", shown, method));
  if (!name.ends_with(".npy")) broken(fmt::format("'{}' is not a .npy array", shown));
  if (part(local, 4) != "PK\x03\x04") broken(fmt::format("'{}' is not at its offset", shown));
  const std::string_view packed =
      part(local + kLocal + u16(local + 26) + u16(local + 28), n_packed);
  if (method == 0 && n != n_packed) broken(fmt::format("'{}' has inconsistent sizes", shown));
  if (n_packed > packed_left_) broken(fmt::format("'{}' overlaps other entries", shown));
  if (n > unpacked_left_) {
    fail<BudgetError>("{}: with '{}' of {} its arrays exceed the available memory", path_, shown,
                      human_bytes(static_cast<std::int64_t>(n)));
  }
  packed_left_ -= n_packed;
  unpacked_left_ -= n;
  const std::string array = method == 8 ? inflated(packed, n, shown) : std::string(packed);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(array.data()), array.size()) != crc)
    broken(fmt::format("'{}' is damaged: its checksum differs", shown));
  Array parsed = parse_npy(array, fmt::format("{}: {}", path_, shown));
  dump[name.substr(0, name.size() - 4)] = {std::move(parsed.shape), std::move(parsed.values)};
  return at + kEntry + n_name + n_extra + n_comment;
}

}  // namespace

Dump read_npz(const std::string& path) {
  return Archive(path).read();
}

}  // namespace weft::tools
