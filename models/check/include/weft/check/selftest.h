#pragma once
// Is this model computed right on this machine? Asks for nothing but the model: no other engine, no
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
  std::string detail;  // what was compared; why it failed or was skipped
};

struct SelfReport {
  std::string about;  // lines on model, backend, machine
  std::vector<SelfCheck> checks;
  bool passed() const;  // none failed
  std::string to_text() const;
  std::string to_json() const;
};

struct SelftestOptions {
  SessionOptions session;  // `workers` is not looked at: checks say how many they need
  // As many as the context holds, at most 512; one or two are made three. Empty: random ids, the
  // same ones every time, as many as cross the ends of blocks of cells and the width classes that a
  // model of this size gets to within seconds; single steps are then compared around these.
  std::vector<std::int32_t> tokens;
  std::function<void(const std::string&)> progress;  // the name of each check before it; may be
                                                     // empty. An exception that it throws ends all
};

// The checks, in order: memory, every tensor's numbers, prefill = decode, chunks, prefix reuse,
// batches, workers (1, 2 and 3), NaN and Inf in nodes, the tokenizer's round trip. A check that
// throws has failed with that text, one that opens no session too; those that compare with prefill
// are then left out. Throws CancelledError, ValueError for an unknown backend, and what
// `progress` throws.
SelfReport selftest(const std::shared_ptr<const Model>& model, const SelftestOptions& options);

// Those that are about sessions alone, for models that were made to be checked.
std::vector<SelfCheck> check_sessions(const std::shared_ptr<const Model>& model,
                                      const SelftestOptions& options);

}  // namespace weft
