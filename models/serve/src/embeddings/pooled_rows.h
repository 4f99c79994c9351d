#pragma once
// The rows of a text's tokens [n, D], reduced to one vector while steps compute them.

#include <span>
#include <vector>

#include "weft/files/pooling.h"

namespace weft::serve {

// Sums are in double precision, in the order of the tokens.
class PooledRows {
 public:
  // REQUIRES: not Pooling::rank.
  PooledRows(const Poolings& poolings, std::size_t width);

  // Whether the row of token t of n is needed; how many rows a text needs at most, 0: all.
  bool needs(std::size_t t, std::size_t n) const;
  std::size_t rows_per_text() const { return all_rows_ ? 0 : modes_.size(); }
  // W, the length of the vector.
  std::size_t width() const { return width_ * modes_.size(); }

  // Adds the row of token t of n; token 0 begins another text. REQUIRES: needs(t, n), and tokens
  // come in order.
  void add(std::span<const float> row, std::size_t t, std::size_t n);
  // [W]; [n * W] for Pooling::none. REQUIRES: all rows of the text that are needed were added.
  std::vector<float> take();

 private:
  void add(Pooling mode, std::span<double> state, std::span<const float> row, std::size_t t,
           std::size_t n) const;

  std::vector<Pooling> modes_;
  std::size_t width_, n_ = 0;
  bool per_token_, all_rows_;
  std::vector<double> state_;  // [modes, D], of the text that is read
  std::vector<float> rows_;    // for Pooling::none
};

}  // namespace weft::serve
