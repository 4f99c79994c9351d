#pragma once
// Sums of squares of rows, column by column, for one matrix or for several (one per expert or per
// head). They are exact, so their bits do not depend on the order in which rows are added.
//
// A sum costs 32 bytes per column and matrix. That of a single matrix costs 8, and 24 per lane:
// lanes add to parts of their own. Several matrices have one set of parts and a lock each, which
// keeps their memory independent of the number of lanes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/scheduler/plan.h"

namespace weft::measure {

class SquareSums {
 public:
  SquareSums(std::int64_t n_matrices, std::int64_t n_cols);

  // Makes room for lanes 0 to n - 1.
  void add_lanes(std::int32_t n);

  // Adds the squares of these columns of row x [n_cols] to those of a matrix. `counts`: the row is
  // counted, which is true for one part of each row. Any number of threads, each with a lane of its
  // own. Does not allocate.
  void add(std::int32_t lane, std::int64_t matrix, const float* x, ColRange cols,
           bool counts) noexcept;

  // A column of the rows that are not kept yet whose sum is not finite.
  std::optional<std::int64_t> find_nonfinite() const;
  void keep();  // adds the squares since the last keep() or drop() to the sums
  void drop();  // discards them

  std::int64_t n_matrices() const { return n_matrices_; }
  std::int64_t n_cols() const { return n_cols_; }
  // The sums of the kept rows [n_matrices, n_cols], and their number [n_matrices].
  std::span<const double> sums() const { return sums_; }
  std::span<const std::int64_t> rows() const { return rows_; }

 private:
  // The sums of one lane or of all lanes; the parts of each sum are separate so that loops over
  // columns vectorize.
  struct Parts {
    Parts(std::size_t n_matrices, std::size_t n_sums);
    std::vector<double> whole, middle, small;
    std::vector<std::int64_t> rows;
    std::vector<char> used;
    std::unique_ptr<std::atomic_flag[]> locks;
  };

  bool used(std::int64_t matrix) const;
  double pending(std::size_t at) const;

  std::int64_t n_matrices_, n_cols_;
  std::vector<Parts> parts_;
  std::vector<double> sums_;
  std::vector<std::int64_t> rows_;
};

}  // namespace weft::measure
