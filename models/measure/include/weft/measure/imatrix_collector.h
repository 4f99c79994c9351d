#pragma once
// Observes a session's steps and sums the squares of each projection's inputs, column by column:
// the importance matrix of the text. It sees the f32 activations, before they are quantized for
// integer products. The sums have the same bits for any number of workers and any division of the
// steps among them (activations up to 10^6).
//
// Every weight that a product reads is collected. Matrices that are stacked in one tensor, of
// experts or heads, have a sum and a count each: of the rows that were multiplied by that matrix.
//
// Memory: 32 bytes per column of every stacked matrix, for any number of lanes; experts that share
// their input share the sums. For D columns in and F in the middle of an expert's three F16
// matrices, that is 32 (D + F) bytes beside 6 D F: about 1 % if F is 768. In addition, the rows of
// one layer whose experts multiply integers: 4 bytes per token of a step, chosen expert and column.
// The sums of other weights need a few MiB.
//
//   ImatrixCollector collector(session, {});
//   session.step(tokens, nullptr, &collector);
//   collector.keep();
//
// If the session has a draft layer, its weights are collected, too: it reads the text itself, each
// token with what the model made of the one before, so that it has one row less than the model
// (weft/run/draft_reading.h).
//
//   observe_drafts(session, &collector);
//   session.step(tokens, nullptr, &collector);
//   read_for_drafts(session, 0);
//   collector.keep();

#include <cstdint>
#include <memory>
#include <string>

#include "weft/quantize/imatrix.h"
#include "weft/run/session.h"

namespace weft {

struct CollectorOptions {
  // Include the output projection and all other matrices that multiply only the rows that request
  // logits; then every token must request them. It may be the embedding: "token_embd.weight".
  bool output = false;
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

  // Counts the steps observed since the last call, at most kMaxTokens tokens in all. Each of them
  // chooses an expert at most once. Throws Error naming a weight whose input was not finite; these
  // steps are then discarded.
  void keep();
  // Discards the steps since the last keep(): call it instead after a cancelled step.
  void drop();
  static constexpr std::int64_t kMaxTokens = 8192;

  // An upper limit of the bytes of the sums for stacked matrices, for SessionOptions::reserved.
  static std::int64_t bytes_of_stacked(const Model& model);

  // Sums and counts of all steps kept so far. Datasets, chunk count and chunk size are not set.
  Imatrix collected() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
