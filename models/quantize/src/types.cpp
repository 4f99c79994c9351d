#include "types.h"

#include <algorithm>
#include <iterator>

#include "weft/base/text.h"
#include "weft/files/gguf_types.h"
#include "weft/ops/formats/nf4.h"

namespace weft::quantize {
namespace {

constexpr std::uint32_t kNumbers = 256;  // type numbers to try; far fewer exist

struct StandIn {
  std::string_view type, other;
};
constexpr StandIn kStandIns[] = {
    {"IQ1_S", "IQ4_NL"}, {"IQ1_M", "IQ4_NL"}, {"IQ2_XXS", "IQ4_NL"}, {"IQ2_XS", "IQ4_NL"},
    {"IQ2_S", "IQ4_NL"}, {"IQ3_S", "IQ4_NL"}, {"IQ3_XXS", "IQ4_NL"}, {"IQ4_XS", "IQ4_NL"},
    {"Q2_0", "Q4_0"},    {"Q2_K", "Q4_0"},    {"Q3_K", "Q4_0"},      {"TQ1_0", "Q4_0"},
    {"TQ2_0", "Q4_0"},   {"Q4_K", "Q5_0"},    {"Q5_K", "Q5_1"},      {"Q6_K", "Q8_0"},
};

constexpr std::string_view kWantImportances[] = {"IQ1_S",  "IQ1_M", "IQ2_XXS",
                                                 "IQ2_XS", "IQ2_S", "IQ3_XXS"};

}  // namespace

DType find_type(std::string_view name) {
  for (std::uint32_t id = 0; id < kNumbers; ++id) {
    const DType type = gguf::find_type(id);
    if (type.valid() && equals_ignoring_case(type.name(), name)) return type;
  }
  return equals_ignoring_case(name, nf4.name()) ? nf4 : DType();  // not in files
}

std::string known_types() {
  std::string names;
  for (std::uint32_t id = 0; id < kNumbers; ++id) {
    const DType type = gguf::find_type(id);
    const bool integer =
        type.valid() && type.name().starts_with('I') && !type.name().starts_with("IQ");
    if (!type.valid() || integer) continue;
    names += names.empty() ? "" : ", ";
    names += type.name();
  }
  return names;
}

DType fitting_type(DType type, std::int64_t n_cols) {
  if (n_cols % type.block_elems() == 0) return type;
  const auto* found = std::ranges::find(kStandIns, type.name(), &StandIn::type);
  if (found == std::end(kStandIns)) return {};
  const DType other = find_type(found->other);
  return n_cols % other.block_elems() == 0 ? other : f16;
}

bool needs_importances(DType type) {
  return std::ranges::find(kWantImportances, type.name()) != std::end(kWantImportances);
}

}  // namespace weft::quantize
