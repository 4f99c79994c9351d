#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/files/output_file.h"
#include "weft/graph/layer_path.h"
#include "weft/measure/bench.h"
#include "weft/measure/profile_times.h"
#include "weft/measure/work.h"
#include "weft/profiles/trace_events.h"
#include "weft/scheduler/profiler.h"

#include "common/flags.h"
#include "profiles/profile_report.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

using bench::Phase;
using bench::Test;
using bench::Work;
using bench::work_of_node;

struct Flags {
  cli::ModelFlags model;
  std::int64_t prompt = 512, predict = 32, depth = 0, repeats = 3;
  std::size_t top = 20;
  std::string trace;
  bool no_fold = false, json = false, again = false;
};

std::string folded(const std::string& path) {
  const LayerPath parsed = parse_part_path(path);
  return parsed.layer == kNoLayer ? path : fmt::format("{}blk.*.{}", parsed.part, parsed.rest);
}

// Sums up the times of steps, node by node.
class Sums {
 public:
  explicit Sums(const Session& session) : session_(session) {}

  // Adds the calls of complete steps.
  void add_calls(const Profiler& profiler, PhaseProfile& phase) {
    for (int w = 0; w < profiler.workers(); ++w) {
      for (const ProfiledCall& call : profiler.calls(w)) {
        busy_[find_step(session_, call.step)] += static_cast<double>(call.ns());
        phase.busy_ns[static_cast<std::size_t>(w)] += static_cast<double>(call.ns());
      }
    }
    phase.dropped += profiler.dropped();
  }
  void add_step(std::int64_t depth, std::int64_t n_tokens, PhaseProfile& phase) {
    const std::size_t plan = session_.plan_for(n_tokens);
    const std::vector<PlanStep>& steps = session_.plan(plan).steps;
    for (std::size_t s = 0; s < steps.size(); ++s)
      work_[{plan, s}] += work_of_node(session_.graph(plan), steps[s].node, depth, n_tokens);
    phase.joins += session_.plan(plan).joins();
  }

  std::vector<ProfileRow> rows(bool fold) const {
    std::map<std::tuple<std::size_t, std::string, std::string>, ProfileRow> rows;
    for (const auto& [where, busy] : busy_) {
      const PlanStep& step = session_.plan(where.plan).steps[where.step];
      const std::string path = fold ? folded(step.path) : step.path;
      ProfileRow& row = rows[{where.plan, path, step.kernel}];
      row.path = path;
      row.op = step.op;
      row.kernel = step.kernel;
      ++row.nodes;
      row.busy_ns += busy;
      row.work += work_.at(where);
    }
    std::vector<ProfileRow> list;
    for (auto& [key, row] : rows) list.push_back(std::move(row));
    return list;
  }

 private:
  const Session& session_;
  std::map<PlaceOfStep, double> busy_;
  std::map<PlaceOfStep, Work> work_;
};

std::vector<StepToken> tokens_of_steps(std::int64_t n, std::int64_t n_vocab) {
  std::vector<StepToken> tokens;
  for (const std::int32_t id : bench::some_tokens(0, n, n_vocab)) tokens.push_back({.token = id});
  return tokens;
}

// Feeds the test's tokens. `observer_of` returns the observer of step i, `after` is called after
// every step.
template <class ObserverOf, class After>
void run_steps(Session& session, const Test& test, Profiler& clock, ObserverOf observer_of,
               After after) {
  std::vector<StepToken> tokens = tokens_of_steps(test.tokens, session.model().facts().n_vocab);
  const std::int64_t width =
      test.phase == Phase::decode ? 1 : std::min(test.tokens, session.options().prefill_width);
  bench::return_to_depth(session, test.depth);
  for (std::int64_t done = 0; done < test.tokens; done += width) {
    const std::int64_t n = std::min(width, test.tokens - done);
    const auto part =
        std::span(tokens).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(n));
    part.back().logits = true;
    const std::int64_t begin_ns = clock.now_ns();
    session.step(part, &cli::interrupted(), observer_of(done / width));
    after(ProfiledStep{test.depth + done, n, begin_ns, clock.now_ns()});
  }
}

// Runs all steps with the profiler. Records are evaluated afterwards, because doing it between
// steps would evict the caches.
std::vector<ProfiledStep> run_watched(Session& session, const Test& test, Profiler& profiler) {
  std::vector<ProfiledStep> steps;
  steps.reserve(static_cast<std::size_t>(test.tokens));
  run_steps(
      session, test, profiler, [&](auto) { return &profiler; },
      [&](const ProfiledStep& step) { steps.push_back(step); });
  return steps;
}

// The overhead of the profiler. It is less than the differences between steps, and than the changes
// of a machine's speed from one millisecond to the next. So steps with and without the profiler
// alternate, and each is compared with its neighbour; in the next repetition they swap places.
class Comparison {
 public:
  Comparison(Session& session, const Test& test, Profiler& ignored)
      : session_(session), test_(test), ignored_(ignored) {}

  // After the watched steps of a repetition.
  void run(const std::vector<ProfiledStep>& watched) {
    std::vector<ProfiledStep> steps;
    steps.reserve(watched.size());
    ignored_.clear();
    run_steps(
        session_, test_, ignored_,
        [&](std::int64_t i) { return is_plain(i) ? nullptr : &ignored_; },
        [&](const ProfiledStep& step) { steps.push_back(step); });
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!is_plain(static_cast<std::int64_t>(i))) continue;
      const bool last = i + 1 == steps.size() || steps[i + 1].n_tokens != steps[i].n_tokens;
      const ProfiledStep& other = last ? watched[i] : steps[i + 1];
      plain_.push_back(steps[i].ns());
      ratios_.push_back(other.ns() / steps[i].ns());
    }
    ++turn_;
  }

  // For phases of `steps` steps. If there is only one, every second repetition has no sample.
  void finish(PhaseProfile& phase) const {
    double sum = 0;
    for (const double ns : plain_) sum += ns;
    phase.plain_ns = sum / static_cast<double>(plain_.size()) * static_cast<double>(phase.steps);
    phase.plain_median_ns = bench::median(plain_);
    phase.overhead = bench::median(ratios_) - 1;
  }

 private:
  bool is_plain(std::int64_t step) const { return (step + turn_) % 2 == 0; }

  Session& session_;
  const Test& test_;
  Profiler& ignored_;
  std::int64_t turn_ = 0;
  std::vector<double> plain_, ratios_;
};

void add_to_trace(const Session& session, const Test& test, const std::vector<ProfiledStep>& steps,
                  const Profiler& profiler, TraceEvents& trace) {
  for (const ProfiledStep& step : steps) {
    trace.add_step(
        fmt::format("{} of {} after {}", to_string(test.phase), step.n_tokens, step.depth),
        session.plan(session.plan_for(step.n_tokens)).name, step.begin_ns, step.end_ns);
  }
  for (int w = 0; w < profiler.workers(); ++w) trace.add_calls(w, profiler.calls(w));
}

PhaseProfile profile_phase(Session& session, const Test& test, const Flags& flags,
                           Profiler& profiler, Profiler& ignored, TraceEvents* trace,
                           PlanTimes& times) {
  const int workers = session.options().workers;
  PhaseProfile phase{.test = test, .workers = workers};
  phase.busy_ns.resize(static_cast<std::size_t>(workers));
  Sums sums(session);
  Comparison comparison(session, test, ignored);
  session.fill_with_noise(0, test.depth);
  run_watched(session, test, profiler);  // to warm up
  profiler.clear();
  for (std::int64_t r = 0; r < flags.repeats; ++r) {
    const StreamStats before = session.stream_stats();
    const std::vector<ProfiledStep> steps = run_watched(session, test, profiler);
    phase.stream += session.stream_stats().since(before);
    comparison.run(steps);
    for (const ProfiledStep& step : steps) {
      phase.wall_ns += step.ns();
      sums.add_step(step.depth, step.n_tokens, phase);
    }
    phase.steps = std::ssize(steps);
    phase.step_nodes = std::ssize(session.plan(session.plan_for(steps.front().n_tokens)).steps);
    sums.add_calls(profiler, phase);
    times.add(profiler, steps);
    if (trace && r == 0) add_to_trace(session, test, steps, profiler, *trace);
    profiler.clear();
  }
  for (const ExpertGroup& group : session.residency().groups)
    phase.groups.push_back(group.paths.front());
  phase.stream_wall_ns = phase.wall_ns;
  const auto n = static_cast<double>(flags.repeats);
  phase.wall_ns /= n;
  phase.joins /= n;
  for (double& busy : phase.busy_ns) busy /= n;
  phase.rows = sums.rows(!flags.no_fold);
  for (ProfileRow& row : phase.rows) row.divide(n);
  comparison.finish(phase);
  return phase;
}

// The number of calls to record per worker in one repetition, with a maximum.
std::size_t max_recorded_calls(const Session& session, const Flags& flags) {
  constexpr std::int64_t kMax = 1 << 20;
  std::int64_t max_calls = 0;
  for (std::size_t i = 0; i < session.n_plans(); ++i)
    max_calls = std::max(max_calls, session.plan(i).calls());
  const std::int64_t width = session.options().prefill_width;
  const std::int64_t steps = std::max((flags.prompt + width - 1) / width, flags.predict);
  return static_cast<std::size_t>(std::min(max_calls * steps, kMax));
}

// What is profiled of a divided model: "rank 0 of 2 (tp=2)". "": the model is not divided.
std::string shown_rank(const Sharding& sharding) {
  if (sharding.ranks() == 1) return "";
  return fmt::format("rank 0 of {} ({})", sharding.ranks(), to_string(sharding));
}

int profile_all(Flags& flags) {
  const auto model = cli::load_inspected_model(flags.model);
  SessionOptions& options = flags.model.session;
  const std::int64_t needed = flags.depth + std::max(flags.prompt, flags.predict);
  if (options.context == 0) options.context = needed;
  if (needed > options.context)
    fail<cli::UsageError>("{} tokens do not fit a context of {}", needed, options.context);
  Session session(model, options);
  cli::print_concessions(session);
  std::int64_t age_s = 0;
  const MachineLimits limits = kept_limits(session.options().workers, flags.again, age_s);
  const std::size_t room = max_recorded_calls(session, flags);
  Profiler profiler(session.options().workers, room), ignored(session.options().workers, room);
  std::optional<TraceEvents> trace;
  if (!flags.trace.empty()) trace.emplace(flags.trace, session.options().workers);

  const std::string rank = shown_rank(model->sharding());
  if (!rank.empty() && !flags.json) std::cout << rank << "; other ranks are not shown\n\n";
  PlanTimes times(session);
  std::vector<PhaseProfile> phases;
  for (const Test& test : {Test{Phase::prefill, flags.prompt, flags.depth},
                           Test{Phase::decode, flags.predict, flags.depth}}) {
    if (test.tokens == 0) continue;
    phases.push_back(
        profile_phase(session, test, flags, profiler, ignored, trace ? &*trace : nullptr, times));
    if (!flags.json) std::cout << to_text(phases.back(), limits, flags.top) << '\n';
  }
  const std::string about = to_json(times.file());
  if (flags.json) std::cout << to_json(phases, limits, about, rank);
  if (!flags.json) std::cout << to_text({limits});
  if (!flags.json && age_s > 0)
    std::cout << fmt::format("         measured {} min ago: --again measures again\n", age_s / 60);
  if (trace) trace->commit(about);
  return 0;
}

int profile(int argc, char** argv) {
  cli::App app(
      "Shows where the time of prefill and decode goes, node by node, and the machine's limits. "
      "Rows "
      "are sorted by the time that could be saved.",
      "weft profile");
  Flags flags;
  cli::add_model_flags(app, flags.model);
  app.add_option("-p,--n-prompt", flags.prompt, "tokens to prefill; 0: none").range(0, 1 << 20);
  app.add_option("-n,--n-gen", flags.predict, "tokens to decode; 0: none").range(0, 1 << 20);
  app.add_option("-d,--n-depth", flags.depth, "number of tokens already in the cache")
      .range(0, 1 << 24);
  app.add_option("-r,--repetitions", flags.repeats, "number of repetitions").range(1, 1000);
  app.add_option("--top", flags.top, "rows to print; 0: all");
  app.add_option("-o,--output", flags.trace,
                 "write a trace of the first repetition for ui.perfetto.dev or chrome://tracing")
      .type_name("FILE.json");
  app.add_flag("--no-fold", flags.no_fold, "one row per node of each layer");
  app.add_flag("--again", flags.again, "measure the machine's limits again");
  app.add_flag("--json", flags.json, "print JSON, also for weft dot --profile");
  app.footer(
      "Examples:\n"
      "  weft profile -m model.gguf\n"
      "  weft profile -m model.gguf -p 0 -n 64 -d 4096 -o trace.json");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  if (flags.prompt == 0 && flags.predict == 0)
    fail<cli::UsageError>("-p 0 and -n 0: nothing to profile");
  return profile_all(flags);
}

}  // namespace

const Subcommand kProfile{
    "profile", "time of every node, its share of the machine's limits, a trace of the workers",
    profile};

}  // namespace weft::tools
