#pragma once
// Weights that are not in memory all the time. An executor asks for a unit before a kernel reads
// it, and tells when it has been read, so that its memory can be used for another one.
//
// A unit is a weight that is read as a whole, or several weights of which a node reads the rows
// that the same ids choose: the matrices of experts.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/graph/graph.h"
#include "weft/graph/view.h"

namespace weft {

inline constexpr int kNoUnit = -1;

// One run at a time. acquire() and release() may be called by all workers at the same time, and
// neither allocates.
class WeightStream {
 public:
  virtual ~WeightStream() = default;

  virtual std::size_t n_units() const = 0;
  virtual int unit_of(const Node& weight) const = 0;       // kNoUnit: it is in memory all the time
  virtual PagedRows* paged(const Node& weight) const = 0;  // View::paged; null: it has an address

  // A run begins that uses unit u in uses[u] calls, in any order that the stages of its plan allow.
  // It ends early when `cancel`, which may be null, or `stopped` becomes true. All outlive the run.
  virtual void begin(std::span<const std::int32_t> uses, const std::atomic<bool>* cancel,
                     const std::atomic<bool>& stopped) = 0;
  // Before and after each of these calls. acquire() waits for a unit that is read as a whole. Of
  // others it starts reading what the inputs choose for the output's rows [row0, row1), which the
  // call computes. Both return false if the run must end, because it was cancelled or something
  // cannot be read.
  [[nodiscard]] virtual bool acquire(int unit, std::span<const View> in, std::int64_t row0,
                                     std::int64_t row1) noexcept = 0;
  [[nodiscard]] virtual bool release(int unit) noexcept = 0;
  // No worker runs any more. If the run ended early, some calls were not made.
  virtual void end() noexcept = 0;
};

}  // namespace weft
