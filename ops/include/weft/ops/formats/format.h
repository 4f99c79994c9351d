#pragma once
// What a weight or activation format is: the facts about its blocks (DType) plus a scalar codec.
// One file pair per format in this folder defines the block struct, its byte diagram, the codec and
// the source of the format; `all_formats()` is the one list of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/graph/dtype.h"

namespace weft {

struct Format {
  DType dtype;
  // `n_elems` elements, a multiple of the block; `in`/`out` blocks lie back to back, without
  // alignment beyond 1.
  void (*decode)(const std::byte* in, float* out, std::int64_t n_elems) = nullptr;
  // Null for formats that cannot be written here, or not without importances. Inputs must be
  // finite, except for F32, F16, BF16 and Q8A.
  void (*encode)(const float* in, std::byte* out, std::int64_t n_elems) = nullptr;
  // As encode() for exactly one row of `n_elems`, where an error in column i counts `importance[i]`
  // (finite, >= 0; the mean square of what the column is multiplied by, `weft imatrix`). Null for
  // formats that importances cannot change.
  void (*encode_weighted)(const float* in, const float* importance, std::byte* out,
                          std::int64_t n_elems) = nullptr;
  // Largest distance of decode(encode(x)) from x within one block whose largest magnitude is
  // `amax`; null where none is known.
  double (*step)(double amax) = nullptr;
  // Holds whole numbers: positions, ids, counts. Neither weights nor activations may be of it.
  bool whole = false;
};

std::span<const Format* const> all_formats();

// The format of a type; null for types without one and unknown numbers or names.
const Format* find_format(DType dtype);
const Format* find_format_by_gguf_id(std::uint32_t gguf_id);
const Format* find_format_by_name(std::string_view name);  // exact, upper case

}  // namespace weft
