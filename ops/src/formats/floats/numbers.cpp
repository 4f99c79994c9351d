#include "weft/ops/formats/numbers.h"

#include <limits>
#include <type_traits>

#include "formats/codec.h"

namespace weft {
namespace {

template <class Number>
struct Codec {
  static constexpr int kBlock = 1;
  using Block = Number;
  static void decode(Number number, float* out) { *out = static_cast<float>(number); }
  static void encode(const float* in, Number& number) {
    if constexpr (std::is_integral_v<Number>) {
      using Limits = std::numeric_limits<Number>;
      const double x = std::nearbyint(double{*in});
      // The largest I64 is not a double: a double that is not below it is above it.
      number = !(x == x)                                 ? Number{0}
               : x <= static_cast<double>(Limits::min()) ? Limits::min()
               : x >= static_cast<double>(Limits::max()) ? Limits::max()
                                                         : static_cast<Number>(x);
    } else {
      number = *in;
    }
  }
};

template <class Number>
constexpr Format format(DType dtype) {
  return {.dtype = dtype,
          .decode = formats::decode_row<Codec<Number>>,
          .encode = formats::encode_row<Codec<Number>>,
          .is_integer = std::is_integral_v<Number>};
}

}  // namespace

const Format kI8Format = format<std::int8_t>(i8);
const Format kI16Format = format<std::int16_t>(i16);
const Format kI32Format = format<std::int32_t>(i32);
const Format kI64Format = format<std::int64_t>(i64);
const Format kF64Format = format<double>(f64);

}  // namespace weft
