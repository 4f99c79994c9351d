#pragma once
// Observes a session's steps and sums the squares of each projection's inputs, column by column:
// the importance matrix of the text. It sees the f32 activations, before they are quantized for
// integer products. The sums have the same bits for any number of workers and any division of the
// steps among them (activations up to 10^6).
//
//   ImatrixCollector collector(session, {});
//   session.step(tokens, nullptr, &collector);
//   collector.keep();

#include <memory>
#include <string>

#include "weft/quantize/imatrix.h"
#include "weft/run/session.h"

namespace weft {

struct CollectorOptions {
  bool output = false;  // include the output projection; then every token must request logits
};

class ImatrixCollector final : public NodeObserver {
 public:
  // The session outlives the collector. Throws ValueError if a weight's name is too long for a
  // file (Imatrix::kMaxName).
  explicit ImatrixCollector(const Session& session, const CollectorOptions& options = {});
  ~ImatrixCollector() override;

  void before(const PlanStep& step, int lane, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}

  // Counts the steps observed since the last call, at most kMaxTokens tokens in all. Throws Error
  // naming a weight whose input was not finite; these steps are then discarded.
  void keep();
  // Discards the steps since the last keep(): call it instead after a cancelled step.
  void drop();
  static constexpr std::int64_t kMaxTokens = 8192;

  // Sums and counts of all steps kept so far. Datasets, chunk count and chunk size are not set.
  Imatrix collected() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
