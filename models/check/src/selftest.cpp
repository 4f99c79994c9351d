#include "weft/check/selftest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/ops/attention/cache_cells.h"

#include "borders.h"
#include "capture.h"
#include "sanity.h"
#include "whole_texts.h"

namespace weft {
namespace {

using namespace checks;

using Logits = std::vector<float>;
using Steps = std::vector<std::size_t>;

// Positions begin..end.
struct Window {
  std::size_t begin = 0, end = 0;
};

// Throws Failed at the first row whose bits differ. Row 0 is at position `first`.
void require_same(std::span<const float> got, std::span<const float> want, std::size_t n_vocab,
                  const std::string& what, std::size_t first = 0) {
  if (got.size() != want.size())
    throw Failed{fmt::format("{}: {} logits instead of {}", what, got.size(), want.size())};
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want[i])) continue;
    throw Failed{fmt::format("{}: logit {} of position {} is {:.9g} instead of {:.9g}", what,
                             i % n_vocab, first + i / n_vocab, got[i], want[i])};
  }
}

class Checks {
 public:
  Checks(const std::shared_ptr<const Model>& model, const SelftestOptions& options)
      : model_(model), options_(options), tokens_(options.tokens) {
    if (options.tokens.empty()) {
      inputs_ = border_inputs(*model, options.session);
      tokens_ = random_ids(*model, inputs_.n_tokens);
      return;
    }
    constexpr std::int64_t kFewest = 3, kMaxTokens = 512;
    const std::vector<std::int32_t> more = random_ids(*model, kFewest);
    while (std::ssize(tokens_) < kFewest) tokens_.push_back(more[tokens_.size()]);
    std::int64_t max_tokens = std::min(model->facts().context, kMaxTokens);
    if (options.session.context > 0) max_tokens = std::min(max_tokens, options.session.context);
    if (std::ssize(tokens_) <= max_tokens) return;
    about = fmt::format("tokens: {} of {}, limited by the context\n", max_tokens, tokens_.size());
    tokens_.resize(static_cast<std::size_t>(max_tokens));
  }

  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  SessionOptions base(int workers = 1) const {
    SessionOptions o = options_.session;
    o.workers = workers;
    if (o.context == 0) o.context = n();
    if (o.prefill_width > n() || !model_->facts().causal) o.prefill_width = n();
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
  std::string about;  // differences from the request

 private:
  std::int64_t n() const { return std::ssize(tokens_); }
  std::size_t n_vocab() const { return static_cast<std::size_t>(model_->facts().n_vocab); }
  Logits logits(Session& session, const Steps& steps, std::int32_t sequence = 0) const {
    session.truncate(sequence, 0);
    return all_logits(session, sequence, tokens_, steps);
  }
  // All tokens in steps of the maximum width.
  Steps wide(const Session& session) const {
    Steps steps = prefill_then_decode(tokens_.size() + 1, session.options().prefill_width);
    steps.pop_back();
    return steps;
  }
  void find_windows(const Session& session);
  std::span<const float> wanted(const Window& window) const {
    return std::span(want_).subspan(window.begin * n_vocab(),
                                    (window.end - window.begin) * n_vocab());
  }
  // Computes the positions of a window again, in these steps. REQUIRES: the sequence holds all
  // earlier positions.
  void recompute(Session& session, const Window& window, const Steps& steps,
                 const std::string& what) const;
  std::size_t decode_windows(Session& session, const std::string& what) const;
  std::string chunks(Session& session) const;
  std::vector<std::int64_t> far_lengths() const;
  std::string far_positions() const;
  std::string workers() const;
  std::string batches() const;
  void side_by_side(Session& session, const Window& window) const;
  std::string prefix(Session& session) const;
  std::size_t reuse(Session& session, std::size_t same) const;
  std::string finite() const;

  std::shared_ptr<const Model> model_;
  const SelftestOptions& options_;
  std::vector<std::int32_t> tokens_;
  BorderInputs inputs_;  // empty for tokens that the caller chose
  Borders borders_;      // those of the sessions here
  // Where narrow steps are compared with wide ones, in ascending order: everywhere for tokens that
  // the caller chose, at the beginning and around the boundaries for random tokens.
  std::vector<Window> windows_;
  Logits want_;  // prefill by one worker
};

void Checks::find_windows(const Session& session) {
  borders_ = borders_of(plan_model(*model_, session.options()), n());
  windows_ = {{0, tokens_.size()}};
  if (!options_.tokens.empty() || n() <= kCellsPerBlock) return;
  windows_ = {{0, 2 * kMargin}};
  for (const std::int64_t length : borders_.lengths) {
    if (length + kMargin > n()) break;
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(length - 2 * kMargin, 0));
    const auto end = static_cast<std::size_t>(std::min(length + 2 * kMargin, n()));
    if (begin <= windows_.back().end) {
      windows_.back().end = std::max(windows_.back().end, end);
    } else {
      windows_.push_back({begin, end});
    }
  }
}

void Checks::recompute(Session& session, const Window& window, const Steps& steps,
                       const std::string& what) const {
  const auto begin = static_cast<std::int64_t>(window.begin);
  const std::int64_t point = session.resume_point(0, begin);
  session.truncate(0, point);
  if (point < begin)
    session.feed(0, std::span(tokens_).subspan(static_cast<std::size_t>(point),
                                               static_cast<std::size_t>(begin - point)));
  const auto ids = std::span(tokens_).subspan(window.begin, window.end - window.begin);
  require_same(all_logits(session, 0, ids, steps), wanted(window), n_vocab(), what, window.begin);
}

// Decodes the windows from last to first, so that the positions before a window are those of
// prefill. Returns how many positions were compared. REQUIRES: the sequence holds all tokens.
std::size_t Checks::decode_windows(Session& session, const std::string& what) const {
  std::size_t n_compared = 0;
  for (std::size_t i = windows_.size(); i-- > 0;) {
    const std::size_t size = windows_[i].end - windows_[i].begin;
    recompute(session, windows_[i], Steps(size, 1), what);
    n_compared += size;
  }
  return n_compared;
}

// Runs with steps at the boundaries of widths, then with random splits.
std::string Checks::chunks(Session& session) const {
  const std::int64_t max_width = session.options().prefill_width;
  for (const Steps& pass : passes_across_widths(borders_, n(), max_width))
    require_same(logits(session, pass), want_, n_vocab(),
                 fmt::format("chunks of {}", fmt::join(pass, ",")));

  Steps steps;
  std::mt19937 random(2);
  constexpr int kCuts = 3;
  for (int cut = 0; cut < kCuts; ++cut) {
    for (std::size_t i = windows_.size(); i-- > 0;) {
      steps.clear();
      for (std::size_t rest = windows_[i].end - windows_[i].begin; rest > 0; rest -= steps.back())
        steps.push_back(std::min(
            rest, 1 + random() % std::min<std::size_t>(static_cast<std::size_t>(max_width), 9)));
      recompute(session, windows_[i], steps, fmt::format("chunks of {}", fmt::join(steps, ",")));
    }
    if (windows_.front().end < tokens_.size())
      session.feed(0, std::span(tokens_).subspan(windows_.front().end));
  }
  return fmt::format("steps at the boundaries of {} widths, {} random splits, same bits",
                     borders_.widths.size(), kCuts);
}

// Those that the tokens do not reach.
std::vector<std::int64_t> Checks::far_lengths() const {
  std::vector<std::int64_t> far = inputs_.borders.lengths;
  std::erase_if(far, [&](std::int64_t length) { return length + kMargin <= n(); });
  return far;
}

// Single steps and a wide one across each, from the same noise on.
std::string Checks::far_positions() const {
  SessionOptions o = base();
  o.context = inputs_.context;
  Session session(model_, o);
  const std::int64_t width = std::min(2 * kMargin, o.prefill_width);
  const auto ids = std::span(tokens_).first(static_cast<std::size_t>(width));
  const auto after = [&](std::int64_t position, const Steps& steps) {
    session.truncate(0, 0);
    session.fill_with_noise(0, position);
    return all_logits(session, 0, ids, steps);
  };
  for (const std::int64_t length : far_lengths()) {
    const std::int64_t begin = length + kMargin - width;
    const Logits want = after(begin, {ids.size()});
    require_same(after(begin, Steps(ids.size(), 1)), want, n_vocab(), "one by one after noise",
                 static_cast<std::size_t>(begin));
  }
  return fmt::format("at {}, same bits", fmt::join(far_lengths(), ", "));
}

std::string Checks::workers() const {
  for (const int workers : {2, 3}) {
    Session session(model_, base(workers));
    encode_in_all_sequences(session);
    require_same(logits(session, wide(session)), want_, n_vocab(),
                 fmt::format("prefill by {} workers", workers));
    decode_windows(session, fmt::format("decode by {} workers", workers));
  }
  return "1, 2 and 3 workers, same bits";
}

// Two sequences in the same steps; the second one is three tokens behind.
std::string Checks::batches() const {
  SessionOptions o = base();
  o.sequences = 2;
  o.prefill_width = std::max<std::int64_t>(o.prefill_width, 2);
  o.logits_rows = std::max<std::int64_t>(o.logits_rows, 2);
  Session session(model_, o);
  encode_in_all_sequences(session);
  for (const Window& window : windows_) side_by_side(session, window);
  return "two sequences in every step, same bits as alone";
}

// Feeds both sequences up to the window; then they share their steps, three tokens apart.
void Checks::side_by_side(Session& session, const Window& window) const {
  constexpr std::size_t kBehind = 3;
  const auto held = [&](std::int32_t s) { return static_cast<std::size_t>(session.length(s)); };
  Window seen[2];
  Logits got[2];
  for (const std::int32_t s : {0, 1}) {
    const std::size_t behind = s == 0 ? 0 : kBehind;
    const std::size_t begin = window.begin - std::min(window.begin, behind);
    if (begin > held(s)) session.feed(s, std::span(tokens_).subspan(held(s), begin - held(s)));
    seen[s] = {held(s), window.end};
  }
  while (held(1) < window.end) {
    std::vector<StepToken> step;
    if (held(0) == window.end || held(0) >= held(1) + kBehind)
      step.push_back({.token = tokens_[held(1)], .sequence = 1, .logits = true});
    if (held(0) < window.end)
      step.push_back({.token = tokens_[held(0)], .sequence = 0, .logits = true});
    const auto rows = session.step(step);
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto row = rows.subspan(i * n_vocab(), n_vocab());
      Logits& mine = got[step[i].sequence];
      mine.insert(mine.end(), row.begin(), row.end());
    }
  }
  for (const int s : {0, 1})
    require_same(got[s], wanted(seen[s]), n_vocab(),
                 fmt::format("sequence {} of a batch of two", s), seen[s].begin);
}

// Reuses the first `same` tokens, or fewer if the resume point is earlier. Returns their number.
std::size_t Checks::reuse(Session& session, std::size_t same) const {
  std::vector<std::int32_t> other = tokens_;
  for (std::size_t i = same; i < other.size(); ++i)
    other[i] = static_cast<std::int32_t>((static_cast<std::size_t>(other[i]) + 1) % n_vocab());
  session.truncate(0, 0);
  session.feed(0, other);  // leaves cells that must not be read
  const std::int64_t point = session.resume_point(0, static_cast<std::int64_t>(same));
  session.truncate(0, point);
  const auto kept = static_cast<std::size_t>(point);
  const auto rest = std::span(tokens_).subspan(kept);
  Steps steps = prefill_then_decode(rest.size() + 1, session.options().prefill_width);
  steps.pop_back();
  const Logits got = all_logits(session, 0, rest, steps);
  const Logits want(want_.begin() + static_cast<std::ptrdiff_t>(kept * n_vocab()), want_.end());
  require_same(got, want, n_vocab(), fmt::format("{} positions kept, then", kept));
  return kept;
}

// Reuse that ends within a block of cells, where cells of another text follow; and just past a
// block, where recurrent states continue from a checkpoint.
std::string Checks::prefix(Session& session) const {
  std::vector<std::int64_t> same{kCellsPerBlock - 1, kCellsPerBlock + 1};
  if (n() <= same.back()) same = {n() / 2};
  std::vector<std::size_t> kept;
  for (const std::int64_t length : same)
    kept.push_back(reuse(session, static_cast<std::size_t>(length)));
  return fmt::format("{} of {} positions reused, same bits as without reuse",
                     fmt::join(kept, " and "), tokens_.size());
}

// NaN and Inf in any node, of a prefill and a decode step.
std::string Checks::finite() const {
  Session session(model_, base());
  encode_in_all_sequences(session);
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
    for (const std::size_t n : steps_of(session, tokens_.size())) {
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
  if (!model_->facts().causal) {
    const WholeTexts texts(model_, base(), tokens_);
    for (const auto& [name, check] : texts.checks()) run(name, check);
    return run("NaN scan", [&] { return finite(); });
  }
  std::optional<Session> session;
  run("prefill = decode", [&] {
    session.emplace(model_, base());
    encode_in_all_sequences(*session);
    find_windows(*session);
    want_ = logits(*session, wide(*session));
    const std::size_t n_compared = decode_windows(*session, "one by one");
    return fmt::format("{} of {} positions, same bits", n_compared, tokens_.size());
  });
  if (want_.empty()) return;  // nothing to compare with
  run("chunks", [&] { return chunks(*session); });
  if (!far_lengths().empty()) run("far positions", [&] { return far_positions(); });
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

}  // namespace

std::vector<SelfCheck> check_sessions(const std::shared_ptr<const Model>& model,
                                      const SelftestOptions& options) {
  Checks checks(model, options);
  checks.sessions();
  return std::move(checks.all);
}

SelfReport selftest(const std::shared_ptr<const Model>& model, const SelftestOptions& options) {
  Checks checks(model, options);
  // This check runs first, while nothing else of the model is in memory.
  checks.run("plan = memory", [&] { return check_memory(model, checks.base(2), checks.tokens()); });
  checks.run("tensors", [&] { return check_tensors(*model); });
  checks.sessions();
  checks.run("tokenizer", [&] { return check_round_trip(*model); });
  return {.about = describe(*model, options) + checks.about, .checks = std::move(checks.all)};
}

}  // namespace weft
