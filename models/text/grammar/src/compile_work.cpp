#include "compile_work.h"

#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

thread_local LimitedCompilation* current = nullptr;

}  // namespace

LimitedCompilation::LimitedCompilation(CompileLimits limits)
    : limits_(std::move(limits)), outer_(std::exchange(current, this)) {}

LimitedCompilation::~LimitedCompilation() {
  current = outer_;
}

namespace grammar {

void CompileWork::add(std::uint64_t steps) {
  if (!current) return;
  current->steps_ += steps;
  const CompileLimits& limits = current->limits_;
  if (current->steps_ > limits.max_steps)
    fail<BudgetError>("it takes more than {} steps to compile", limits.max_steps);
  if (limits.cancel && *limits.cancel) fail<CancelledError>("cancelled");
}

std::string CompileWork::scope() {
  return current ? current->limits_.scope : "";
}

bool CompileWork::is_limited() {
  return current != nullptr;
}

}  // namespace grammar
}  // namespace weft
