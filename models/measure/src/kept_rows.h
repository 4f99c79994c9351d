#pragma once
// Rows of activations as they were before `quantize` made integers of them. Which rows an expert
// multiplies is only known when its product is computed; the f32 rows may be overwritten by then.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "weft/graph/view.h"
#include "weft/scheduler/plan.h"

namespace weft::measure {

// The rows of one `quantize` node of a plan.
class KeptRows {
 public:
  // `n_copies`: lanes that each compute all rows, at most 256, or 1.
  KeptRows(std::int64_t n_rows, std::int64_t n_cols, std::int32_t n_copies);

  // Stages of the plan in which they are held, inclusive.
  std::int32_t first_stage = 0, last_stage = 0;
  std::int64_t size() const { return n_copies_ * n_rows_ * n_cols_; }
  void place(float* at) { data_ = at; }

  // Copies a region of x, which the node writes to `quantized`.
  void keep(const View& x, const std::byte* quantized, const Region& region) noexcept;
  const float* row(const std::byte* quantized, std::int64_t r) noexcept;

 private:
  float* copy_of(const std::byte* quantized) noexcept;

  std::int64_t n_rows_, n_cols_, n_copies_;
  float* data_ = nullptr;
  std::vector<std::atomic<const std::byte*>> copies_;  // the output whose rows each copy holds
};

// The memory of all kept rows. Those of one plan share it if their stages differ, as activations
// do in its arena; plans do not run at the same time.
class KeptRowsMemory {
 public:
  // Places the rows of one plan.
  void add(const std::vector<KeptRows*>& rows);
  // After the last add(): allocates, and gives all rows their memory.
  void allocate();

 private:
  struct Placed {
    KeptRows* rows;
    std::int64_t offset;
  };
  std::vector<Placed> placed_;
  std::vector<float> memory_;
};

}  // namespace weft::measure
