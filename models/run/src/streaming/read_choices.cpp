#include "weft/run/read_choices.h"

#include "weft/files/file_reads.h"

namespace weft::run {
namespace {

constexpr std::string_view kDepthName = "reads.depth", kBlockName = "reads.block",
                           kSpeedName = "reads.speed";
constexpr std::int64_t kMaxBlock = std::int64_t{64} << 20;

}  // namespace

ReadChoices read_choices() {
  const TunedValues values = stored_values(kTunedReads);
  ReadChoices choices;
  const TunedValue* const depth = values.find(kDepthName);
  const TunedValue* const block = values.find(kBlockName);
  const TunedValue* const speed = values.find(kSpeedName);
  constexpr auto kAlignment = static_cast<std::int64_t>(kReadAlignment);
  if (depth && depth->value >= 1 && depth->value <= kMaxReadDepth)
    choices.depth = static_cast<int>(depth->value);
  if (block && block->value > 0 && block->value <= kMaxBlock && block->value % kAlignment == 0)
    choices.block = block->value;
  if (speed && speed->value > 0) choices.bytes_per_second = speed->value;
  return choices;
}

TunedValues to_values(const ReadChoices& choices, double gain) {
  return TunedValues({{std::string(kDepthName), choices.depth, gain},
                      {std::string(kBlockName), choices.block, gain},
                      {std::string(kSpeedName), choices.bytes_per_second, gain}});
}

}  // namespace weft::run
