#pragma once
// The steps of a compilation, counted where loops depend on the text of a grammar.

#include <cstdint>
#include <optional>
#include <string>

#include "weft/grammar/compile_limits.h"

namespace weft::grammar {

struct CompileWork {
  // Counts steps of this thread's LimitedCompilation, if there is one. Throws BudgetError and
  // CancelledError.
  static void add(std::uint64_t steps);
  static std::string scope();  // CompileLimits::scope, or ""
  static bool is_limited();    // there is one
};

// The default limits, unless others hold.
class DefaultLimits {
 public:
  DefaultLimits() {
    if (!CompileWork::is_limited()) limits_.emplace(CompileLimits{});
  }

 private:
  std::optional<LimitedCompilation> limits_;
};

}  // namespace weft::grammar
