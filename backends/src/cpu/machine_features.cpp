#include "cpu/isa_table.h"

namespace weft::cpu {

FeatureSet machine_features() {
  static const FeatureSet features = [] {
    FeatureSet found;
    const auto add_from = [&](const auto& bits) {
      for (const auto& [feature, where] : bits) {
        if (processor_has(where)) found.add(feature);
      }
    };
    add_from(kCpuidBits);
    add_from(kHwcapBits);
    return found;
  }();
  return features;
}

}  // namespace weft::cpu
