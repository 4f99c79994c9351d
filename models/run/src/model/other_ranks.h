#pragma once
// The other ranks of a sharded model, as sessions of rank 0 see them. ranks/ implements both
// classes; models and sessions know nothing else of it.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/link.h"
#include "weft/scheduler/rank_link.h"
#include "weft/scheduler/verify.h"

#include "memory/per_sequence.h"

namespace weft::run {

// Their parts of one session.
class OtherRanks : public PerSequence {
 public:
  // Tells them to compute a step, too; they then wait for this rank in their exchanges. Sessions
  // take turns from here to end_step(). Throws RankError if one is lost; then no step began.
  virtual void begin_step(std::span<const StepToken> tokens, bool verify) = 0;
  // Takes reports() if the step was verified. Throws RankError.
  virtual void collect_reports() = 0;
  // Unless it was kept, the others undo the step.
  virtual void end_step(bool kept) noexcept = 0;

  virtual void set_lora_scales(std::int32_t sequence, std::span<const float> scales) = 0;
  // What they found in the last step, if it was verified; by rank, from 1 on.
  virtual std::span<const VerifyReport> reports() const = 0;
};

// All ranks of a model. The last reference sends them away.
class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual RankLink& link() = 0;
  virtual int size() const = 0;
  // RankContext::ranks_here.
  virtual int ranks_here() const = 0;
  // Opens the session on all others, and waits for them. Throws Error if one cannot, or if it has
  // room for other steps only.
  virtual std::unique_ptr<OtherRanks> open_session(const PlannedModel& planned) = 0;
  // Between steps.
  virtual LinkSpeed measure_link(int rank) = 0;
  virtual std::string_view carrier() const = 0;  // "in process"
};

}  // namespace weft::run
