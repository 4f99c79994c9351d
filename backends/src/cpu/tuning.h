#pragma once
// The values of the backend's tunables (weft/backends/tunables.h), as kernels need them.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/tuned_values.h"
#include "weft/graph/dtype.h"

#include "cpu/isa.h"

namespace weft::cpu {

// How many bytes ahead of its reads a kernel prefetches a panel.
struct PanelPrefetch {
  std::int64_t one_token = 0;  // 0: it leaves that to the processor
  std::int64_t several = 2048;
};

class Tuning {
 public:
  Tuning() = default;  // standard values
  explicit Tuning(const TunedValues& values);

  PanelPrefetch prefetch(DType plain) const;

 private:
  struct OfFormat {
    DType plain;
    PanelPrefetch prefetch;
  };
  std::vector<OfFormat> formats_;  // all with panels, if values were measured
};

// The machine for which kernels of nodes are prepared.
struct Machine {
  FeatureSet features;
  Tuning tuning;
};

}  // namespace weft::cpu
