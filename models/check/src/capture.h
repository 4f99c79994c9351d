#pragma once
// Helpers of the checks: values of nodes as floats, and steps of a session.

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/run/session.h"

namespace weft::checks {

// Keeps the outputs of all nodes in the last steps, as floats. For plans with one lane.
class Capture final : public NodeObserver {
 public:
  struct Value {
    std::int64_t rows = 0, cols = 0;
    std::vector<float> values;
  };
  // `next` is called first; may be null.
  explicit Capture(NodeObserver* next = nullptr) : next_(next) {}
  bool verifies() const override { return next_ && next_->verifies(); }
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

  // The rows of all steps since the last clear(), one after the other; null for an unknown node.
  const Value* find(const std::string& path) const;
  void clear() { values_.clear(); }
  void throw_failure() const;  // rethrows an exception that occurred while observing

 private:
  NodeObserver* next_;
  std::unordered_map<std::string, Value> values_;
  std::exception_ptr failure_;
};

// Divides `n` tokens into steps: all but the last in chunks of at most `width`, then the last.
std::vector<std::size_t> prefill_then_decode(std::size_t n, std::int64_t width);

// The steps of `n` tokens in this session: those of prefill_then_decode() with its width; a single
// one if the model reads a text as a whole.
std::vector<std::size_t> steps_of(const Session& session, std::size_t n);

// Feeds the tokens in steps of these sizes and returns the logits of all of them [n, V].
std::vector<float> all_logits(Session& session, std::int32_t sequence,
                              std::span<const std::int32_t> tokens,
                              std::span<const std::size_t> steps);

}  // namespace weft::checks
