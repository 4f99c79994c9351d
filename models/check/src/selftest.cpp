#include "weft/check/selftest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "capture.h"
#include "sanity.h"

namespace weft {
namespace {

constexpr std::size_t kTokens = 24;

using Logits = std::vector<float>;
using Steps = std::vector<std::size_t>;

// Throws Failed at the first row that is not the same bit for bit.
void require_same(const Logits& got, const Logits& want, std::size_t n_vocab,
                  const std::string& what) {
  if (got.size() != want.size())
    throw Failed{fmt::format("{}: {} logits instead of {}", what, got.size(), want.size())};
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(float)) == 0) continue;
    throw Failed{fmt::format("{}: logit {} of position {} is {:.9g} instead of {:.9g}", what,
                             i % n_vocab, i / n_vocab, got[i], want[i])};
  }
}

class Checks {
 public:
  Checks(const std::shared_ptr<const Model>& model, const SelftestOptions& options)
      : model_(model), options_(options), tokens_(options.tokens) {
    const std::int64_t n_vocab = model->facts().n_vocab;
    std::mt19937 random(1);
    while (tokens_.size() < (options.tokens.empty() ? kTokens : 3))
      tokens_.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n_vocab)));
    std::int64_t most = std::min<std::int64_t>(model->facts().context, 512);
    if (options.session.context > 0) most = std::min(most, options.session.context);
    if (std::ssize(tokens_) <= most) return;
    about = fmt::format("tokens: {} of {}, as many as the context holds\n", most, tokens_.size());
    tokens_.resize(static_cast<std::size_t>(most));
  }

  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  SessionOptions base(int workers = 1) const {
    SessionOptions o = options_.session;
    o.workers = workers;
    if (o.context == 0) o.context = n();
    o.prefill_width = std::min<std::int64_t>(o.prefill_width, n());
    o.logits_rows = o.prefill_width;
    o.progress = {};
    return o;
  }
  void run(const std::string& name, const std::function<std::string()>& f) {
    if (options_.progress) options_.progress(name);
    all.push_back(run_check(name, f));
  }
  void sessions();

  std::vector<SelfCheck> all;
  std::string about;  // what was not done as asked

 private:
  std::int64_t n() const { return std::ssize(tokens_); }
  std::size_t n_vocab() const { return static_cast<std::size_t>(model_->facts().n_vocab); }
  Logits logits(Session& session, const Steps& steps, std::int32_t sequence = 0) const {
    session.truncate(sequence, 0);
    return all_logits(session, sequence, tokens_, steps);
  }
  // All tokens in steps as wide as they may be.
  Steps wide(const Session& session) const {
    Steps steps = prefill_then_decode(tokens_.size() + 1, session.options().prefill_width);
    steps.pop_back();
    return steps;
  }
  std::string chunks(Session& session) const;
  std::string workers() const;
  std::string batches() const;
  std::string prefix(Session& session) const;
  std::string finite() const;

  std::shared_ptr<const Model> model_;
  const SelftestOptions& options_;
  std::vector<std::int32_t> tokens_;
  Logits want_;  // prefill by one worker
};

std::string Checks::chunks(Session& session) const {
  std::mt19937 random(2);
  const auto most = static_cast<std::size_t>(session.options().prefill_width);
  constexpr int kCuts = 3;
  for (int i = 0; i < kCuts; ++i) {
    Steps steps;
    std::string text;
    for (std::size_t left = tokens_.size(); left > 0; left -= steps.back()) {
      steps.push_back(std::min(left, 1 + random() % std::min<std::size_t>(most, 9)));
      text += fmt::format("{}{}", text.empty() ? "" : ",", steps.back());
    }
    require_same(logits(session, steps), want_, n_vocab(), "chunks of " + text);
  }
  return fmt::format("{} random ways to cut, same bits", kCuts);
}

std::string Checks::workers() const {
  for (const int workers : {2, 3}) {
    Session session(model_, base(workers));
    require_same(logits(session, wide(session)), want_, n_vocab(),
                 fmt::format("prefill by {} workers", workers));
    require_same(logits(session, Steps(tokens_.size(), 1)), want_, n_vocab(),
                 fmt::format("decode by {} workers", workers));
  }
  return "1, 2 and 3 workers, same bits";
}

// Two sequences in the same steps, the second one three tokens behind.
std::string Checks::batches() const {
  SessionOptions o = base();
  o.sequences = 2;
  o.prefill_width = std::max<std::int64_t>(o.prefill_width, 2);
  o.logits_rows = std::max<std::int64_t>(o.logits_rows, 2);
  Session session(model_, o);
  const std::size_t kBehind = std::min<std::size_t>(3, tokens_.size());  // no step may be empty
  Logits got[2];
  for (std::size_t i = 0; i < tokens_.size() + kBehind; ++i) {
    std::vector<StepToken> step;
    if (i >= kBehind)
      step.push_back({.token = tokens_[i - kBehind], .sequence = 1, .logits = true});
    if (i < tokens_.size()) step.push_back({.token = tokens_[i], .sequence = 0, .logits = true});
    const auto rows = session.step(step);
    for (std::size_t s = 0; s < step.size(); ++s) {
      const auto row = rows.subspan(s * n_vocab(), n_vocab());
      Logits& mine = got[step[s].sequence];
      mine.insert(mine.end(), row.begin(), row.end());
    }
  }
  for (const int s : {0, 1})
    require_same(got[s], want_, n_vocab(), fmt::format("sequence {} of a batch of two", s));
  return "two sequences in every step, same bits as alone";
}

std::string Checks::prefix(Session& session) const {
  const std::size_t same = tokens_.size() / 2;
  std::vector<std::int32_t> other = tokens_;
  for (std::size_t i = same; i < other.size(); ++i)
    other[i] = static_cast<std::int32_t>((static_cast<std::size_t>(other[i]) + 1) % n_vocab());
  session.truncate(0, 0);
  session.feed(0, other);  // leaves cells behind that must not be seen
  const std::int64_t point = session.resume_point(0, static_cast<std::int64_t>(same));
  session.truncate(0, point);
  const auto kept = static_cast<std::size_t>(point);
  const auto rest = std::span(tokens_).subspan(kept);
  Steps steps = prefill_then_decode(rest.size() + 1, session.options().prefill_width);
  steps.pop_back();
  const Logits got = all_logits(session, 0, rest, steps);
  const Logits want(want_.begin() + static_cast<std::ptrdiff_t>(kept * n_vocab()), want_.end());
  require_same(got, want, n_vocab(), fmt::format("{} positions kept, then", kept));
  return fmt::format("{} of {} positions kept, same bits as fresh", kept, tokens_.size());
}

// NaN and Inf in any node, of a prefill and a decode step.
std::string Checks::finite() const {
  Session session(model_, base());
  struct Scan final : NodeObserver {
    Capture capture;
    std::string bad;
    std::size_t n_nodes = 0;
    void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
    void after(const PlanStep& step, int worker, const KernelArgs& args,
               const Region& region) noexcept override {
      ++n_nodes;
      if (!bad.empty()) return;
      capture.clear();
      capture.after(step, worker, args, region);
      const Capture::Value* value = capture.find(step.path);
      if (value && !std::ranges::all_of(value->values, [](float v) { return std::isfinite(v); }))
        bad = step.path;
    }
  } scan;
  std::vector<StepToken> step;
  for (const std::int32_t token : tokens_) step.push_back({.token = token});
  const std::span<const StepToken> whole = step;
  try {
    std::size_t done = 0;
    for (const std::size_t n :
         prefill_then_decode(tokens_.size(), session.options().prefill_width)) {
      session.step(whole.subspan(done, n), nullptr, &scan);
      done += n;
    }
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (scan.bad.empty()) throw;
  }
  scan.capture.throw_failure();
  if (!scan.bad.empty())
    throw Failed{fmt::format("'{}' is the first node with NaN or Inf", scan.bad)};
  return fmt::format("{} nodes, all finite", scan.n_nodes);
}

void Checks::sessions() {
  std::optional<Session> session;
  run("prefill = decode", [&] {
    session.emplace(model_, base());
    want_ = logits(*session, wide(*session));
    require_same(logits(*session, Steps(tokens_.size(), 1)), want_, n_vocab(), "one by one");
    return fmt::format("{} positions, same bits", tokens_.size());
  });
  if (want_.empty()) return;  // nothing to compare with
  run("chunks", [&] { return chunks(*session); });
  run("prefix reuse = fresh", [&] { return prefix(*session); });
  run("batched = alone", [&] { return batches(); });
  run("workers", [&] { return workers(); });
  run("NaN scan", [&] { return finite(); });
}

std::string describe(const Model& model, const SelftestOptions& options) {
  const ModelFacts& f = model.facts();
  return fmt::format(
      "model: {} '{}', {} layers, width {}, vocabulary {}, {} weights, {}\n"
      "backend: {}\n",
      f.architecture, printable(f.name), f.n_layers, f.n_embd, f.n_vocab, f.n_params,
      human_bytes(f.weight_bytes), routes_of(options.session).description());
}

std::string_view to_string(Verdict v) {
  constexpr std::string_view kNames[] = {"passed", "FAILED", "skipped"};
  return kNames[static_cast<std::size_t>(v)];
}

}  // namespace

std::vector<SelfCheck> check_sessions(const std::shared_ptr<const Model>& model,
                                      const SelftestOptions& options) {
  Checks checks(model, options);
  checks.sessions();
  return std::move(checks.all);
}

SelfReport selftest(const std::shared_ptr<const Model>& model, const SelftestOptions& options) {
  Checks checks(model, options);
  // First, as long as nothing else of the model is in memory.
  checks.run("plan = memory", [&] { return check_memory(model, checks.base(2), checks.tokens()); });
  checks.run("tensors", [&] { return check_tensors(*model); });
  checks.sessions();
  checks.run("tokenizer", [&] { return check_round_trip(*model); });
  return {.about = describe(*model, options) + checks.about, .checks = std::move(checks.all)};
}

bool SelfReport::passed() const {
  return std::ranges::none_of(checks,
                              [](const SelfCheck& c) { return c.verdict == Verdict::failed; });
}

std::string SelfReport::to_text() const {
  std::string text = about;
  for (const SelfCheck& c : checks)
    text += fmt::format("{:<8} {:<22} {}\n", to_string(c.verdict), c.name, c.detail);
  const auto n = [&](Verdict v) { return std::ranges::count(checks, v, &SelfCheck::verdict); };
  return text + fmt::format("{} passed, {} failed, {} skipped\n", n(Verdict::passed),
                            n(Verdict::failed), n(Verdict::skipped));
}

std::string SelfReport::to_json() const {
  nlohmann::ordered_json json{{"passed", passed()}, {"about", about}};
  auto& all = json["checks"] = nlohmann::ordered_json::array();
  for (const SelfCheck& c : checks)
    all.push_back({{"name", c.name}, {"verdict", to_string(c.verdict)}, {"detail", c.detail}});
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weft
