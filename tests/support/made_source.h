#pragma once
// For tests: a model file that exists only as keys and tensor specs.

#include "weft/arch/made_source.h"

namespace weft::test {

// Keys and tensors of a decoder with 2 layers: D 64, H 4, G 2, E 16 (or 64 / heads), F 96, V 50.
inline arch::MadeSource tiny_source(const std::string& arch, std::int64_t heads = 4) {
  arch::MadeSource source(arch, {.H = heads});
  source.path = "tiny.gguf";
  source.learn();
  return source;
}

}  // namespace weft::test
