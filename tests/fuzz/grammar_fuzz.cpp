// Any bytes as a grammar in GBNF: it compiles or is refused with an error; what compiles reads a
// few texts. After a NUL byte comes a text for the grammar.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = all.find('\0');
  try {
    const auto grammar = weft::Grammar::from_gbnf(all.substr(0, nul));
    grammar->accepts("");
    if (nul != all.npos) grammar->accepts(all.substr(nul + 1, 256));
  } catch (const weft::Error&) {
  }
  return 0;
}
