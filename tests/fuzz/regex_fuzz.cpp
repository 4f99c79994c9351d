// Compiles arbitrary bytes as a pattern, which must succeed or throw an error. A compiled pattern
// matches a few texts; one of them follows a NUL byte in the input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = all.find('\0');
  try {
    const auto grammar = weft::Grammar::from_regex(all.substr(0, nul));
    grammar->accepts("");
    if (nul != all.npos) grammar->accepts(all.substr(nul + 1, 256));
  } catch (const weft::Error&) {
  }
  return 0;
}
