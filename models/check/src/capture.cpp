#include "capture.h"

#include <algorithm>
#include <exception>

#include "weft/ops/formats/format.h"

namespace weft::checks {

void Capture::before(const PlanStep& step, int worker, const KernelArgs& args,
                     const Region& region) noexcept {
  if (next_) next_->before(step, worker, args, region);
}

void Capture::after(const PlanStep& step, int worker, const KernelArgs& args,
                    const Region& region) noexcept {
  if (next_) next_->after(step, worker, args, region);
  const Format* format = find_format(args.out.dtype);
  if (failure_ || !format || format->is_integer || args.op->storage != Storage::fresh) return;
  try {
    Value& value = values_[step.path];
    value.cols = args.out.cols();
    value.values.reserve(value.values.size() +
                         static_cast<std::size_t>(args.out.rows() * value.cols));
    for (std::int64_t r = 0; r < args.out.rows(); ++r) {
      const std::size_t done = value.values.size();
      value.values.resize(done + static_cast<std::size_t>(value.cols));
      format->decode(args.out.row<std::byte>(r), value.values.data() + done, value.cols);
      ++value.rows;
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
}

const Capture::Value* Capture::find(const std::string& path) const {
  const auto it = values_.find(path);
  return it == values_.end() ? nullptr : &it->second;
}

void Capture::throw_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<std::size_t> prefill_then_decode(std::size_t n, std::int64_t width) {
  std::vector<std::size_t> steps;
  for (std::size_t done = 0; done + 1 < n;) {
    steps.push_back(std::min(n - 1 - done, static_cast<std::size_t>(width)));
    done += steps.back();
  }
  steps.push_back(1);
  return steps;
}

std::vector<std::size_t> steps_of(const Session& session, std::size_t n) {
  if (!session.model().facts().causal) return {n};
  return prefill_then_decode(n, session.options().prefill_width);
}

std::vector<float> all_logits(Session& session, std::int32_t sequence,
                              std::span<const std::int32_t> tokens,
                              std::span<const std::size_t> steps) {
  std::vector<float> logits;
  std::vector<StepToken> step;
  std::size_t done = 0;
  for (const std::size_t n : steps) {
    step.clear();
    for (const std::int32_t token : tokens.subspan(done, n))
      step.push_back({.token = token, .sequence = sequence, .logits = true});
    const auto rows = session.step(step);
    logits.insert(logits.end(), rows.begin(), rows.end());
    done += n;
  }
  return logits;
}

}  // namespace weft::checks
