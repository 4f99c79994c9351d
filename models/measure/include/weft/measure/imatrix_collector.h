#pragma once
// Watches a session's steps and sums the squares of what goes into each projection, column by
// column: the importance matrix of the text that was run. It sees the f32 activations, before they
// are rounded for integer products. The sums have the same bits for any number of workers and any
// division of the steps among them (activations up to 10^6).
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
  bool output = false;  // the output projection, too; then every token must ask for logits
};

class ImatrixCollector final : public NodeObserver {
 public:
  // The session outlives the collector. Throws ValueError where a weight's name is too long for a
  // file (Imatrix::kMaxName).
  explicit ImatrixCollector(const Session& session, const CollectorOptions& options = {});
  ~ImatrixCollector() override;

  void before(const PlanStep& step, int lane, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}

  // After steps that were observed, together of at most kMostTokens: counts them. Throws Error
  // naming a weight whose input was not finite; the steps are then left out.
  void keep();
  // In place of keep(), after a step that was cancelled: forgets the steps since the last one.
  void drop();
  static constexpr std::int64_t kMostTokens = 8192;

  // Sums and counts of all that was kept. Without names of texts, chunk count and size.
  Imatrix collected() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
