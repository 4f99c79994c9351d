#pragma once
// For tests: a model file that exists only as keys and tensor specs.

#include "weft/arch/made_source.h"

namespace weft::test {

// Keys and tensors of a decoder of the sizes that MadeSizes has.
inline arch::MadeSource tiny_source(const std::string& arch) {
  arch::MadeSource source(arch);
  source.path = "tiny.gguf";
  source.learn();
  return source;
}

}  // namespace weft::test
