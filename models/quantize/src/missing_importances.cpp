#include "missing_importances.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"

#include "tensors.h"

namespace weft::quantize {
namespace {

bool profits(const QuantizedTensor& t) {
  const Format* encoder = t.converts() ? find_format(t.to) : nullptr;
  return encoder && encoder->encode_weighted && expects_importances(t.tensor->name);
}

// The first few names.
struct Names {
  static constexpr std::size_t kShown = 3;
  std::size_t n = 0;
  std::vector<std::string> shown;

  void add(std::string_view name) {
    if (++n <= kShown) shown.push_back(printable(name));
  }
  std::string text() const {
    return fmt::format("{}{}", fmt::join(shown, ", "), n > kShown ? ", ..." : "");
  }
};

}  // namespace

std::string name_of(const Imatrix& imatrix) {
  return imatrix.source.empty() ? "the importance matrix" : printable_path(imatrix.source);
}

std::vector<std::string> missing_importances(const QuantizePlan& plan, const Imatrix& imatrix) {
  Names without, unused;
  std::size_t n_quantized = 0;
  std::int64_t n_experts = 0;
  for (const QuantizedTensor& t : plan.tensors) {
    if (!profits(t)) continue;
    ++n_quantized;
    const auto entry = imatrix.entries.find(t.tensor->name);
    const bool is_used = entry != imatrix.entries.end() &&
                         std::ranges::any_of(entry->second.counts, [](auto n) { return n > 0; });
    if (!is_used) {
      without.add(t.tensor->name);
    } else if (const auto n = std::ranges::count(entry->second.counts, 0); n > 0) {
      n_experts += n;
      unused.add(t.tensor->name);
    }
  }
  const std::string of = name_of(imatrix);
  std::vector<std::string> lines;
  if (without.n > 0) {
    lines.push_back(
        fmt::format("{}: no importances for {} of {} tensors, whose errors are not weighted: {}",
                    of, without.n, n_quantized, without.text()));
  }
  if (unused.n > 0) {
    lines.push_back(fmt::format(
        "{}: {} experts of {} tensors were never used by the text, so their errors are not "
        "weighted: {}",
        of, n_experts, unused.n, unused.text()));
  }
  return lines;
}

}  // namespace weft::quantize
