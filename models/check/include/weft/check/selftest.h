#pragma once
// Checks that this machine computes a model correctly. Needs only the model: no other engine, no
// expected values.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

enum class Verdict : std::uint8_t { passed, failed, skipped };

struct SelfCheck {
  std::string name;
  Verdict verdict = Verdict::passed;
  std::string detail;  // the comparison, or why it failed or was skipped
};

struct SelfReport {
  std::string about;  // lines about model, backend and machine
  std::vector<SelfCheck> checks;
  bool passed() const;  // none failed
  std::string to_text() const;
  std::string to_json() const;
};

struct SelftestOptions {
  SessionOptions session;  // `workers` is ignored: each check sets it
  // At most 512 tokens that fit into the context; one or two are extended to three. Empty: random
  // ids, always the same, enough to cross the boundaries of blocks of cells and of the width
  // classes that a model of this size reaches within seconds; single steps around these boundaries
  // are then compared.
  std::vector<std::int32_t> tokens;
  std::function<void(const std::string&)> progress;  // gets the name of each check before it runs;
                                                     // may be empty. An exception ends the test
};

// The checks, in order: memory, every tensor's numbers, prefill = decode, chunks, prefix reuse,
// batches, workers (1, 2 and 3), NaN and Inf in nodes, the tokenizer's round trip. Models that read
// a text as a whole have nothing to divide: for them a text after a longer one replaces the checks
// before batches. A check that throws, or cannot open its session, has failed with that message;
// checks that compare with prefill are then omitted. Throws CancelledError, ValueError for an
// unknown backend, and any exception of `progress`.
SelfReport selftest(const std::shared_ptr<const Model>& model, const SelftestOptions& options);

// Only the checks of sessions, for models that were made for checks.
std::vector<SelfCheck> check_sessions(const std::shared_ptr<const Model>& model,
                                      const SelftestOptions& options);

}  // namespace weft
