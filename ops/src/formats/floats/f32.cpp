#include "weft/ops/formats/f32.h"

#include <cstring>

namespace weft {
namespace {

void decode(const std::byte* in, float* out, std::int64_t n_elems) {
  std::memcpy(out, in, static_cast<std::size_t>(n_elems) * sizeof(float));
}

void encode(const float* in, std::byte* out, std::int64_t n_elems) {
  std::memcpy(out, in, static_cast<std::size_t>(n_elems) * sizeof(float));
}

double max_error(double) {
  return 0;
}

}  // namespace

const Format kF32Format{.dtype = f32, .decode = decode, .encode = encode, .max_error = max_error};

}  // namespace weft
