#include "cpu/tuning.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/backends/tunables.h"
#include "weft/base/text.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kSeveral = 4;  // tokens that share the weights that a kernel unpacks

std::string prefetch_name(DType plain, bool one_token) {
  return fmt::format("prefetch.{}.{}", to_lower(plain.name()), one_token ? "1" : "n");
}

Tunable prefetch_tunable(DType plain, bool one_token) {
  constexpr PanelPrefetch kStandard;
  return {.name = prefetch_name(plain, one_token),
          .about = fmt::format("{} in panels, {}: bytes prefetched ahead", plain.name(),
                               one_token ? "1 token" : "several tokens"),
          .weights = plain,
          .n_tokens = one_token ? 1 : kSeveral,
          .standard = one_token ? kStandard.one_token : kStandard.several,
          .others = one_token ? std::vector<std::int64_t>{1024, 2048, 4096, 8192}
                              : std::vector<std::int64_t>{512, 1024, 4096, 8192}};
}

// Sets `to` to the measured value if the tunable has it.
void choose(const TunedValues& values, const Tunable& tunable, std::int64_t& to) {
  const TunedValue* const measured = values.find(tunable.name);
  if (measured && std::ranges::count(tunable.others, measured->value) != 0) to = measured->value;
}

// The formats with panels, in the order in which they are measured: a time limit cuts the end off.
std::vector<DType> formats(FeatureSet has) {
  std::vector<DType> list = {q4_k, q6_k, q8_0, q4_0};
  for (const DType panels : panel_types()) {
    if (std::ranges::count(list, panels.plain()) == 0) list.push_back(panels.plain());
  }
  std::erase_if(list, [&](DType plain) { return !has_panel_row(q8a, plain, has); });
  return list;
}

}  // namespace

Tuning::Tuning(const TunedValues& values) {
  if (values.all().empty()) return;
  for (const DType panels : panel_types()) {
    OfFormat of{.plain = panels.plain(), .prefetch = {}};
    choose(values, prefetch_tunable(of.plain, true), of.prefetch.one_token);
    choose(values, prefetch_tunable(of.plain, false), of.prefetch.several);
    formats_.push_back(of);
  }
}

PanelPrefetch Tuning::prefetch(DType plain) const {
  const auto found = std::ranges::find(formats_, plain, &OfFormat::plain);
  return found == formats_.end() ? PanelPrefetch{} : found->prefetch;
}

}  // namespace weft::cpu

namespace weft {

std::vector<Tunable> cpu_tunables(std::string_view isa) {
  const cpu::FeatureSet has = cpu::features_of(isa, cpu::machine_features());
  std::vector<Tunable> tunables;
  for (const bool one_token : {true, false}) {
    for (const DType plain : cpu::formats(has))
      tunables.push_back(cpu::prefetch_tunable(plain, one_token));
  }
  return tunables;
}

}  // namespace weft
