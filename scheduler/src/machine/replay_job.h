#pragma once
// The work of a run, as the workers see it: stages that follow each other, of pieces that any
// worker may take.

#include <span>

namespace weft::scheduler {

struct ReplayStage {
  int shares = 1;  // per lane, 1 to kMaxShares
  bool with_copies = false;
};
inline constexpr int kMaxShares = 7;
// Plans with more lanes than this have one share per lane, because each call is prepared for every
// worker that may make it.
inline constexpr int kMaxSharedLanes = 8;

// Outlives its Replay; `share` and `copies` do not throw. `worker` is 0 to lanes - 1; a worker runs
// one piece at a time.
class ReplayJob {
 public:
  virtual std::span<const ReplayStage> stages() const = 0;
  virtual int lanes() const = 0;
  // `index` counts the shares of all lanes: those of lane l start at shares * l.
  virtual void share(int stage, int index, int worker) noexcept = 0;
  virtual void copies(int stage, int lane, int worker) noexcept = 0;

 protected:
  ~ReplayJob() = default;
};

}  // namespace weft::scheduler
