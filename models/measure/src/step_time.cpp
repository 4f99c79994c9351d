#include "step_time.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/measure/bench.h"
#include "weft/scheduler/profiler.h"

namespace weft::bench {
namespace {

std::vector<StepToken> step_of(std::int64_t n, std::int64_t n_vocab) {
  std::vector<StepToken> tokens;
  for (const std::int32_t id : some_tokens(0, n, n_vocab)) tokens.push_back({.token = id});
  tokens.back().logits = true;
  return tokens;
}

// A flag that becomes true after a time, or soon after another flag became true.
class Deadline {
 public:
  Deadline(double seconds, const std::atomic<bool>* cancel)
      : thread_([this, seconds, cancel](const std::stop_token& stop) {
          const auto begun = Clock::now();
          std::unique_lock lock(mutex_);
          while (!stop.stop_requested() && seconds_since(begun) < seconds && !(cancel && *cancel))
            changed_.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
          flag_ = true;
        }) {}
  const std::atomic<bool>& flag() const { return flag_; }

 private:
  std::atomic<bool> flag_{false};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // destroyed first
};

// The time of the stages of a plan, of which the first ones were timed.
class StageTimes {
 public:
  StageTimes(const Session& session, std::size_t plan, std::int64_t depth, std::int64_t n_tokens)
      : kinds_(static_cast<std::size_t>(session.plan(plan).stages)), multiply_adds_(kinds_.size()) {
    for (const PlanStep& step : session.plan(plan).steps) {
      const auto stage = static_cast<std::size_t>(step.stage);
      kinds_[stage] += fmt::format("{} {} {} {};", step.op, step.kernel, step.cost.bytes_read,
                                   step.cost.multiply_adds);
      multiply_adds_[stage] +=
          work_of_node(session.graph(plan), step.node, depth, n_tokens).multiply_adds;
    }
  }

  // Takes the calls of a step that was cancelled, at least in its second stage.
  void add(const Profiler& profiler) {
    std::vector<std::int64_t> ends(kinds_.size());
    std::int64_t begin = INT64_MAX;
    std::size_t last = 0;  // stage, perhaps incomplete
    for (int w = 0; w < profiler.workers(); ++w) {
      for (const ProfiledCall& call : profiler.calls(w)) {
        const auto stage = static_cast<std::size_t>(call.step->stage);
        ends[stage] = std::max(ends[stage], call.end_ns);
        begin = std::min(begin, call.begin_ns);
        last = std::max(last, stage);
      }
    }
    for (std::size_t s = 0; s < last; ++s) {
      if (ends[s] == 0) continue;
      const std::int64_t end = std::max(ends[s], begin);
      timed_[kinds_[s]].add(static_cast<double>(end - begin), multiply_adds_[s]);
      begin = end;
    }
  }

  // The time of the whole plan; 0 if no stage was timed.
  double ns() const {
    Timed all;
    for (const auto& [kind, timed] : timed_) all.add(timed.ns, timed.multiply_adds);
    if (all.n == 0) return 0;
    double sum = 0;
    for (std::size_t s = 0; s < kinds_.size(); ++s) {
      const auto same = timed_.find(kinds_[s]);
      sum += same != timed_.end() ? same->second.ns / same->second.n
                                  : all.ns * multiply_adds_[s] / std::max(1.0, all.multiply_adds);
    }
    return sum;
  }

 private:
  struct Timed {
    double ns = 0, multiply_adds = 0, n = 0;
    void add(double more_ns, double more_multiply_adds) {
      ns += more_ns;
      multiply_adds += more_multiply_adds;
      ++n;
    }
  };
  std::vector<std::string> kinds_;     // by stage
  std::vector<double> multiply_adds_;  // by stage
  std::map<std::string, Timed> timed_;
};

void check(const std::atomic<bool>* cancel) {
  if (cancel && *cancel) fail<CancelledError>("the forecast was cancelled");
}

// Seconds of the step; below 0 if it was not finished in time.
double run_until(Session& session, std::int64_t depth, std::span<const StepToken> tokens,
                 double limit, const std::atomic<bool>* cancel, NodeObserver* observer) {
  return_to_depth(session, depth);
  const Deadline deadline(limit, cancel);
  const auto begun = Clock::now();
  try {
    session.step(tokens, &deadline.flag(), observer);
  } catch (const CancelledError&) {
    check(cancel);
    return -1;
  }
  return seconds_since(begun);
}

}  // namespace

double step_seconds(Session& session, std::int64_t depth, std::int64_t n_tokens, double limit,
                    const std::atomic<bool>* cancel) {
  constexpr std::size_t kMaxRuns = 5;
  const std::vector<StepToken> tokens = step_of(n_tokens, session.model().facts().n_vocab);
  const std::size_t plan = session.plan_for(n_tokens);
  // The first run, which also gets memory from the system, shows whether there is time for all.
  Profiler profiler(session.options().workers,
                    static_cast<std::size_t>(session.plan(plan).calls()));
  for (double patience = limit;; patience *= 2) {
    const double first = run_until(session, depth, tokens, patience, cancel, &profiler);
    if (first >= 0) break;
    StageTimes times(session, plan, depth, n_tokens);
    times.add(profiler);
    if (const double ns = times.ns(); ns > 0) return ns / 1e9;
    profiler.clear();
  }
  std::vector<double> seconds;
  const auto begun = Clock::now();
  while (seconds.empty() || (seconds.size() < kMaxRuns && seconds_since(begun) < limit / 2)) {
    const double time = run_until(session, depth, tokens, 1e9, cancel, nullptr);
    seconds.push_back(time);
  }
  return median(std::move(seconds));
}

double decode_seconds(Session& session, std::int64_t depth, double limit,
                      const std::atomic<bool>* cancel) {
  constexpr std::int64_t kMaxTokens = 64;
  const std::int64_t most = std::min(kMaxTokens, session.options().context - depth);
  const std::vector<StepToken> tokens = step_of(most, session.model().facts().n_vocab);
  return_to_depth(session, depth);
  std::vector<double> seconds;
  const auto begun = Clock::now();
  for (StepToken token : tokens) {
    token.logits = true;
    const auto step = Clock::now();
    session.step({&token, 1}, cancel);
    seconds.push_back(seconds_since(step));
    if (seconds.size() > 1 && seconds_since(begun) > limit) break;
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());  // gets memory from the system
  return median(std::move(seconds));
}

}  // namespace weft::bench
