#include "profiles/request_profile.h"

#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/measure/profile_times.h"
#include "weft/profiles/trace_events.h"

namespace weft::tools {
namespace {

// The calls of later steps are only summed up, so that the memory and the file stay small.
constexpr std::size_t kMaxCalls = std::size_t{1} << 17;

class RecordedSteps final : public server::RequestProfile {
 public:
  void on_step(const WatchedStep& step) override {
    const std::lock_guard lock(mutex_);
    if (is_written_) return;
    if (!times_) times_.emplace(step.session);
    const std::array one{ProfiledStep{step.depth, step.n_tokens, step.begin_ns, step.end_ns}};
    times_->add(step.profiler, one);
    if (n_calls_ >= kMaxCalls) return;
    Recorded recorded{
        fmt::format("{} of {} tokens after {}", step.n_watched, step.n_tokens, step.depth),
        step.session.plan(step.session.plan_for(step.n_tokens)).name,
        one[0],
        {}};
    for (int w = 0; w < step.profiler.workers(); ++w) {
      recorded.calls.push_back(step.profiler.calls(w));
      n_calls_ += recorded.calls.back().size();
    }
    steps_.push_back(std::move(recorded));
  }

  void write(const std::string& path) override {
    {
      const std::lock_guard lock(mutex_);
      is_written_ = true;
    }
    // From here on, on_step() touches nothing: it must not wait for the disk.
    if (steps_.empty()) return;
    TraceEvents trace(path, static_cast<int>(steps_.front().calls.size()));
    for (const Recorded& step : steps_) {
      trace.add_step(step.name, step.plan, step.times.begin_ns, step.times.end_ns);
      for (std::size_t w = 0; w < step.calls.size(); ++w)
        trace.add_calls(static_cast<int>(w), step.calls[w]);
    }
    trace.commit(to_json(times_->file()));
  }

 private:
  struct Recorded {
    std::string name, plan;
    ProfiledStep times;
    std::vector<std::vector<ProfiledCall>> calls;  // by worker
  };
  std::mutex mutex_;
  bool is_written_ = false;
  std::optional<PlanTimes> times_;  // from the first step on
  std::vector<Recorded> steps_;
  std::size_t n_calls_ = 0;
};

}  // namespace

std::shared_ptr<server::RequestProfile> make_request_profile() {
  return std::make_shared<RecordedSteps>();
}

}  // namespace weft::tools
