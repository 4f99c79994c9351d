// Reads arbitrary bytes as a file of saved logits, which must succeed or throw weft::Error. Every
// row that was read must be usable in a comparison.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weft/base/error.h"
#include "weft/measure/perplexity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Copies to an even address.
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> copy(bytes, bytes + size);
  try {
    const weft::SavedLogits saved = weft::SavedLogits::parse(copy, "input");
    const auto n_vocab = static_cast<std::size_t>(saved.n_vocab());
    const std::vector<float> logits(n_vocab, 1.0f);
    for (std::int64_t w = 0; w < saved.n_windows(); ++w) {
      for (std::int64_t i = 0; i < weft::rows_per_window(saved.window()); ++i) {
        const weft::SavedRow row = saved.row(w, i);
        const auto last = static_cast<std::int32_t>(n_vocab - 1);
        const weft::Compared c = weft::compare(logits, row, last);
        if (!std::isfinite(c.nll) || !std::isfinite(c.divergence)) std::abort();
      }
    }
  } catch (const weft::Error&) {
  }
  return 0;
}
