#pragma once
// Plain numbers that files carry beside weights: two's complement integers and binary64,
// little-endian. Decoding rounds to the nearest float; encoding rounds to the nearest integer, ties
// to even, and clamps to the type's range (NaN becomes 0).
//
//   I8   byte 0     I16  bytes 0-1     I32  bytes 0-3     I64  bytes 0-7     F64  bytes 0-7

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kI8Info{"I8", 24, 1, 1};
inline constexpr DTypeInfo kI16Info{"I16", 25, 1, 2};
inline constexpr DTypeInfo kI64Info{"I64", 27, 1, 8};
inline constexpr DTypeInfo kF64Info{"F64", 28, 1, 8};
inline constexpr DType i8{&kI8Info};
inline constexpr DType i16{&kI16Info};
inline constexpr DType i64{&kI64Info};
inline constexpr DType f64{&kF64Info};

extern const Format kI8Format;
extern const Format kI16Format;
extern const Format kI32Format;
extern const Format kI64Format;
extern const Format kF64Format;

}  // namespace weft
