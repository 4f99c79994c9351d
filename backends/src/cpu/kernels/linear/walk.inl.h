#pragma once
// The order in which a kernel takes the pieces of a matrix: columns by pieces of K.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// A piece: its first column, and its first block (element, if weights have none).
struct PieceAt {
  std::int64_t column, block;
};

// Column by column, in the order of memory, if the activations fit into L2; otherwise piece by
// piece of K, so that the activations of a piece fit.
template <class Arch>
struct Walk {
  static constexpr std::int64_t kCached = 512 * 1024;

  PieceAt first, size;  // the first piece, and the size of a piece
  std::int64_t n_columns, n_pieces;
  bool by_column;

  // Columns [from.column, last), `n_blocks` blocks, `activations` bytes of activations.
  WEFT_INLINE Walk(PieceAt from, PieceAt piece, std::int64_t last, std::int64_t n_blocks,
                   std::int64_t activations)
      : first(from),
        size(piece),
        n_columns((last - from.column + piece.column - 1) / piece.column),
        n_pieces((n_blocks + piece.block - 1) / piece.block),
        by_column(activations <= kCached) {}
  WEFT_INLINE std::int64_t n_steps() const { return n_columns * n_pieces; }
  WEFT_INLINE PieceAt at(std::int64_t step) const {
    return {first.column + (by_column ? step / n_pieces : step % n_columns) * size.column,
            (by_column ? step % n_pieces : step / n_columns) * size.block};
  }
};

}  // namespace weft::cpu
