#pragma once
// The bits in which a processor, or the operating system, reports the features of the list.

#include "weft/base/processor.h"

#include "cpu/feature_list.h"

namespace weft::cpu {

template <class Bit>
struct FeatureBit {
  Feature feature;
  Bit where;
};

}  // namespace weft::cpu
