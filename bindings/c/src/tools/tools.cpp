// What the program weft does besides generating text: descriptions, checks, measurements.

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/check/new_model.h"
#include "weft/check/selftest.h"
#include "weft/check/verify_model.h"
#include "weft/files/describe.h"
#include "weft/measure/bench.h"
#include "weft/run/plan_json.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/machine_limits.h"
#include "weft/scheduler/workers.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/gate.h"
#include "border/objects.h"
#include "border/options.h"
#include "tools/keys.h"

namespace weft::c_api {
namespace {

std::string plan_json(const Model& model, const SessionOptions& options) {
  MemoryOffer offer{.planned = plan_model(model, options), .slots = options.sequences};
  offer.concessions = offer.planned.concessions;
  return to_json(model, offer);
}

// The same ids in every call.
std::vector<std::int32_t> tokens_to_verify(const Model& model, const SessionOptions& options) {
  std::int64_t n = std::min<std::int64_t>(8, model.facts().context);
  if (options.context > 0) n = std::min(n, options.context);
  std::mt19937 random(1);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>(random() % model.facts().n_vocab));
  return tokens;
}

// A check that a callback leaves by an exception counts as failed; here it ends the call instead.
class CallbackErrors {
 public:
  void watch(std::function<void(const std::string&)>& f) {
    if (!f) return;
    f = [this, inner = f](const std::string& line) {
      try {
        inner(line);
      } catch (const StatusError&) {
        thrown_ = std::current_exception();
        throw;
      }
    };
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::exception_ptr thrown_;
};

SelfReport run_selftest(const std::shared_ptr<const Model>& model, const SessionOptions& session,
                        CancellableCall& running) {
  SelftestOptions options{.session = session, .tokens = {}, .progress = {}};
  options.session.cancel = &running.cancelled();
  CallbackErrors errors;
  errors.watch(options.session.warn);
  options.progress = [&](const std::string&) {
    errors.rethrow();
    running.check();
    if (session.progress && !session.progress(0)) fail<CancelledError>("selftest was cancelled");
  };
  SelfReport report = selftest(model, options);
  errors.rethrow();
  return report;
}

// {"about", "checks"} of a report, and whether it passed.
void write_report(const SelfReport& report, std::int32_t* passed, weft_text* json) {
  write_text(json, report.to_json());
  *passed = report.passed();
}

weft_bench_options default_bench_options() {
  return {.struct_size = sizeof(weft_bench_options),
          .repeats = 5,
          .prompt_tokens = 512,
          .generated_tokens = 64};
}

std::vector<bench::Test> bench_tests(const weft_bench_options& o) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 32;
  check_between(o.repeats, 1, 1000, "repeats");
  check_between(o.prompt_tokens, 0, kMaxTokens, "prompt_tokens");
  check_between(o.generated_tokens, 0, kMaxTokens, "generated_tokens");
  check_between(o.depth, 0, kMaxTokens, "depth");
  std::vector<bench::Test> tests;
  if (o.prompt_tokens > 0)
    tests.push_back({.phase = bench::Phase::prefill, .tokens = o.prompt_tokens, .depth = o.depth});
  if (o.generated_tokens > 0)
    tests.push_back(
        {.phase = bench::Phase::decode, .tokens = o.generated_tokens, .depth = o.depth});
  if (tests.empty())
    fail<ValueError>("`prompt_tokens` and `generated_tokens` are 0: nothing to measure");
  return tests;
}

std::string bench_json(const ModelObject& m, const weft_bench_options& o,
                       CancellableCall& running) {
  const std::vector<bench::Test> tests = bench_tests(o);
  SessionOptions options = session_options(o.session);
  const std::int64_t n = std::max(o.prompt_tokens, o.generated_tokens) + o.depth;
  if (options.context == 0) options.context = n;
  if (n > options.context)
    fail<ValueError>("{} tokens do not fit a context of {}", n, options.context);
  options.cancel = &running.cancelled();
  Session session(m.computing(), options);
  Fnv1a64 hash;
  bench::Report report{
      .model = m.path,
      .architecture = m.architecture,
      .backend = session.options().backend,
      .batch = session.options().prefill_width,
      .memory = session.memory().total(),
      .rows = bench::measure(session, tests, o.repeats, hash, &running.cancelled()),
      .limits = {}};
  report.logits_hash = hash.value();
  return bench::to_json(report);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_inspect_json(const char* path, weft_text* json, weft_error** error) {
  return call(error, [&] {
    required(json, "json");
    const Checkpoint file = Checkpoint::open(std::string(required_text(path, "path")),
                                             {.allow_unknown_settings = true, .rank_files = true});
    std::ostringstream text;
    write_json(text, file);
    file.check_mapped();
    write_text(json, text.view());
  });
}

weft_status weft_plan_json(weft_model* model, const weft_session_options* options, weft_text* json,
                           weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    write_text(json, plan_json(*m->computing(), session_options(options)));
  });
}

weft_status weft_verify_json(weft_model* model, const weft_session_options* options,
                             const weft_token* tokens, size_t n, weft_canceller* canceller,
                             int32_t* passed, weft_text* json, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    required(passed, "passed"), required(json, "json");
    const auto given = array(tokens, n, "tokens");
    VerifyOptions how{.session = session_options(options),
                      .tokens = {given.begin(), given.end()},
                      .borders = n == 0};
    if (n == 0) how.tokens = tokens_to_verify(*m->computing(), how.session);
    CancellableCall running(canceller);
    how.session.cancel = &running.cancelled();
    const ModelVerification result = verify_model(m->computing(), how);
    write_text(json, result.to_json());
    *passed = result.passed();
  });
}

weft_status weft_selftest_json(weft_model* model, const weft_session_options* options,
                               weft_canceller* canceller, int32_t* passed, weft_text* json,
                               weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    required(passed, "passed"), required(json, "json");
    CancellableCall running(canceller);
    write_report(run_selftest(m->computing(), session_options(options), running), passed, json);
  });
}

weft_status weft_check_new_model_json(const char* architecture, const weft_value* keys,
                                      size_t n_keys, const char* snapshot,
                                      weft_canceller* canceller, int32_t* passed, weft_text* json,
                                      weft_error** error) {
  return call(error, [&] {
    required(passed, "passed"), required(json, "json");
    CancellableCall running(canceller);
    const NewModelOptions options{.keys = made_keys(keys, n_keys),
                                  .snapshot = std::string(text_or(snapshot)),
                                  .progress = [&](const std::string&) { running.check(); },
                                  .cancel = &running.cancelled()};
    const std::string name(required_text(architecture, "architecture"));
    write_report(check_new_model(name, options), passed, json);
  });
}

weft_status weft_bench_options_init(weft_bench_options* options, size_t size) {
  return call(nullptr,
              [&] { init_options(options, size, default_bench_options(), "weft_bench_options"); });
}

weft_status weft_bench_json(weft_model* model, const weft_bench_options* options,
                            weft_canceller* canceller, weft_text* json, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    required(json, "json");
    const auto o = read_options(options, default_bench_options(), "weft_bench_options");
    CancellableCall running(canceller);
    write_text(json, bench_json(*m, o, running));
  });
}

weft_status weft_limits_json(int32_t workers, int64_t max_bytes, weft_canceller* canceller,
                             weft_text* json, weft_error** error) {
  return call(error, [&] {
    required(json, "json");
    check_between(workers, 0, kMaxWorkers, "workers");
    check_between(max_bytes, 0, INT64_MAX, "max_bytes");
    CancellableCall running(canceller);
    const auto limits = bench::measure_limits(workers == 0 ? default_workers() : workers,
                                              max_bytes == 0 ? default_budget() / 2 : max_bytes,
                                              &running.cancelled());
    write_text(json, to_json(limits));
  });
}
