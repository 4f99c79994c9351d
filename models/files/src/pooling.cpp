#include "weft/files/pooling.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr PoolingKind kPoolingKinds[] = {
    {Pooling::none, "none", "a vector per token"},
    {Pooling::mean, "mean", "the mean of all tokens"},
    {Pooling::cls, "cls", "the first token"},
    {Pooling::last, "last", "the last token"},
    {Pooling::rank, "rank", "the outputs of the model's classifier, which are scores"},
    {Pooling::max, "max", "the maximum of each dimension"},
    {Pooling::mean_sqrt_len, "mean_sqrt_len",
     "the sum divided by the root of the number of tokens"},
    {Pooling::weighted_mean, "weighted_mean", "the mean with weights 1, 2, ..., n"},
};
constexpr std::size_t kMaxModes = 16;

}  // namespace

std::span<const PoolingKind> pooling_kinds() {
  return kPoolingKinds;
}

std::string_view to_string(Pooling pooling) {
  return std::ranges::find(kPoolingKinds, pooling, &PoolingKind::pooling)->name;
}

std::vector<std::string> pooling_names() {
  std::vector<std::string> names;
  for (const PoolingKind& kind : kPoolingKinds) names.emplace_back(kind.name);
  return names;
}

std::string pooling_help() {
  std::string help;
  for (const PoolingKind& kind : kPoolingKinds)
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", kind.name, kind.meaning);
  return help;
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
    const auto* kind = std::ranges::find(kPoolingKinds, text.substr(0, end), &PoolingKind::name);
    if (kind == std::end(kPoolingKinds) || modes.size() == kMaxModes) return std::nullopt;
    modes.push_back(kind->pooling);
    if (more) text.remove_prefix(end + 1);
  }
  const bool alone = std::ranges::any_of(
      modes, [](Pooling mode) { return mode == Pooling::none || mode == Pooling::rank; });
  if (alone && modes.size() > 1) return std::nullopt;
  return Poolings(std::move(modes));
}

}  // namespace weft
