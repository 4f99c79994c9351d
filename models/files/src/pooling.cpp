#include "weft/files/pooling.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::string_view kPoolingNames[] = {"none", "mean", "cls",           "last",
                                              "rank", "max",  "mean_sqrt_len", "weighted_mean"};
constexpr std::size_t kMaxModes = 16;

}  // namespace

std::string_view to_string(Pooling pooling) {
  return kPoolingNames[static_cast<std::size_t>(pooling)];
}

std::span<const std::string_view> pooling_names() {
  return kPoolingNames;
}

std::string to_string(const Poolings& poolings) {
  std::string text;
  for (const Pooling mode : poolings.modes()) {
    if (!text.empty()) text += '+';
    text += to_string(mode);
  }
  return text;
}

std::optional<Poolings> find_poolings(std::string_view text) {
  std::vector<Pooling> modes;
  for (bool more = true; more;) {
    const std::size_t end = text.find('+');
    more = end != std::string_view::npos;
    const auto* name = std::ranges::find(kPoolingNames, text.substr(0, end));
    if (name == std::end(kPoolingNames) || modes.size() == kMaxModes) return std::nullopt;
    modes.push_back(static_cast<Pooling>(name - std::begin(kPoolingNames)));
    if (more) text.remove_prefix(end + 1);
  }
  const bool alone = std::ranges::any_of(
      modes, [](Pooling mode) { return mode == Pooling::none || mode == Pooling::rank; });
  if (alone && modes.size() > 1) return std::nullopt;
  return Poolings(std::move(modes));
}

}  // namespace weft
