#include "inputs/windows.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/tokenize/tokenizer.h"

#include "common/read_text.h"

namespace weft::tools {

std::int32_t bos_of(const Model& model) {
  return model.vocabulary().opening();
}

Windows read_windows(const Model& model, const std::string& path, std::int64_t size,
                     std::int64_t first, std::int64_t max) {
  Windows w{.size = size, .bos = bos_of(model)};
  if (w.bos >= 0) w.tokens.push_back(w.bos);
  const auto ids = model.tokenizer().encode(cli::read_text(path), {.add_special = false});
  w.tokens.insert(w.tokens.end(), ids.begin(), ids.end());
  const std::int64_t all = w.count();
  if (all < std::max<std::int64_t>(first, 1)) {
    const std::int64_t wanted = std::max<std::int64_t>(first, 1);
    fail<ValueError>(
        "{}: {} tokens are {} windows of {}, expected at least {}: give a longer text, "
        "or smaller windows with -c {}",
        printable_path(path), w.tokens.size(), all, size, wanted,
        std::max<std::int64_t>(2, std::ssize(w.tokens) / wanted));
  }
  const std::int64_t last = max > 0 ? first + std::min(max, all - first) : all;
  w.tokens.resize(static_cast<std::size_t>(last * size));
  w.tokens.erase(w.tokens.begin(), w.tokens.begin() + first * size);
  return w;
}

std::int64_t rows_that_fit(const Model& model, std::int64_t max) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  const std::int64_t row = model.facts().n_vocab * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kBytes / row, 1, max);
}

}  // namespace weft::tools
