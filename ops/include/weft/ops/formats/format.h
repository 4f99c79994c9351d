#pragma once
// A weight or activation format: the facts about its blocks (DType) and a scalar codec. One pair of
// files per format in this folder defines the block struct, its byte diagram, the codec and the
// source of the format. all_formats() is the only list of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/graph/dtype.h"

namespace weft {

struct Format {
  DType dtype;
  // Decodes `n_elems` elements, a multiple of the block size. Blocks are back to back and need no
  // alignment.
  void (*decode)(const std::byte* in, float* out, std::int64_t n_elems) = nullptr;
  // Null for formats that cannot be written, or not without importances. Inputs must be finite,
  // except for F32, F16, BF16 and Q8A.
  void (*encode)(const float* in, std::byte* out, std::int64_t n_elems) = nullptr;
  // Like encode(), for exactly one row of `n_elems`. An error in column i is weighted by
  // `importance[i]` (finite, >= 0): the mean square of the activations that the column is
  // multiplied by (`weft imatrix`). Null for formats that importances cannot improve.
  void (*encode_weighted)(const float* in, const float* importance, std::byte* out,
                          std::int64_t n_elems) = nullptr;
  // A bound of |decode(encode(x)) - x| within a block whose largest magnitude is `amax`. Null if
  // none is known.
  double (*max_error)(double amax) = nullptr;
  // Holds integers: positions, ids, counts. Neither weights nor activations may have this format.
  bool is_integer = false;
};

std::span<const Format* const> all_formats();

// The format of a type; null for types without one and unknown numbers or names.
const Format* find_format(DType dtype);
const Format* find_format_by_gguf_id(std::uint32_t gguf_id);
const Format* find_format_by_name(std::string_view name);  // exact, upper case

}  // namespace weft
