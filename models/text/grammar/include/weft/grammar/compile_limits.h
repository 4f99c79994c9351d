#pragma once
// What compiling grammars of foreign origin may cost, and who shares what is kept of them.
//
//   const LimitedCompilation limits({.cancel = &client_left, .scope = client});
//   auto grammar = Grammar::from_json_schema(schema_of_client);

#include <atomic>
#include <cstdint>
#include <string>

namespace weft {

namespace grammar {
struct CompileWork;
}  // namespace grammar

struct CompileLimits {
  // For all grammars together. A step takes some tens of nanoseconds; the largest schemas in use
  // need some millions.
  static constexpr std::uint64_t kDefaultSteps = 50'000'000;
  std::uint64_t max_steps = kDefaultSteps;
  // Compiling throws CancelledError soon after this becomes true. Null: never. Outlives the
  // compilation.
  const std::atomic<bool>* cancel = nullptr;
  // Kept grammars of schemas (Grammar::from_json_schema) are found only by those who name the same
  // scope.
  std::string scope = {};
};

// While it lives, what its thread compiles keeps the limits: functions of Grammar then throw
// BudgetError and CancelledError, too. Without one, every grammar has the default limits of its
// own. They nest; the innermost counts. Destroy it on the thread that made it, the last one first.
class LimitedCompilation {
 public:
  explicit LimitedCompilation(CompileLimits limits);
  ~LimitedCompilation();
  LimitedCompilation(const LimitedCompilation&) = delete;
  LimitedCompilation& operator=(const LimitedCompilation&) = delete;

  std::uint64_t steps() const { return steps_; }  // so far

 private:
  friend struct grammar::CompileWork;
  CompileLimits limits_;
  std::uint64_t steps_ = 0;
  LimitedCompilation* outer_;
};

}  // namespace weft
