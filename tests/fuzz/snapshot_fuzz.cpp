// Reads arbitrary bytes as a file of a snapshot, which must succeed or throw weft::Error. Adds the
// correct size and checksums, because otherwise no code after their checks would be reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/run/snapshot_file.h"

namespace {

constexpr std::size_t kNumber = sizeof(std::uint64_t), kHeaderAt = 8, kFileAt = 16;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(&bytes[at], &value, kNumber);
}

void correct(std::vector<std::byte>& bytes) {
  if (bytes.size() < kFileAt + 3 * kNumber) return;
  std::uint64_t n = 0;
  std::memcpy(&n, &bytes[kHeaderAt], kNumber);
  put(bytes, kFileAt, bytes.size());
  if (n < kFileAt + 3 * kNumber || n > bytes.size()) return;
  const std::span<const std::byte> all(bytes);
  const auto header = static_cast<std::size_t>(n);
  put(bytes, header - 2 * kNumber, weft::checksum(all.subspan(header)));
  put(bytes, header - kNumber, weft::checksum(all.first(header - kNumber)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  correct(bytes);
  try {
    const auto file = weft::SnapshotFile::parse(bytes, "input");
    std::size_t n = file.label().owner.size() + 4 * file.snapshot().tokens.size();
    for (const auto& state : file.snapshot().states)
      n += state.bytes.size() + 8 * state.shape.lengths.size();
    if (n > size) std::abort();
    file.check_contents();
  } catch (const weft::Error&) {
  }
  return 0;
}
