// Reads arbitrary bytes as a saved sequence, which must succeed or throw weft::Error. Adds the
// correct checksum, because otherwise no code after its check would be reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/run/saved_sequence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint64_t sum = weft::checksum({reinterpret_cast<const std::byte*>(data), size});
  std::vector<std::byte> bytes(size + sizeof sum);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  std::memcpy(bytes.data() + size, &sum, sizeof sum);
  try {
    const auto saved = weft::SavedSequence::parse(bytes, "input");
    if (saved.tokens().size_bytes() + saved.note().size() > size) std::abort();
  } catch (const weft::Error&) {
  }
  return 0;
}
