#include "weft/run/session.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"
#include "weft/run/ranks.h"

#include "session/session_impl.h"

namespace weft {
namespace {

using namespace run;

// Ranks other than 0 may have no results, and none are exchanged if nobody wants them.
bool gives(const Model& model, const Runner& r, std::string_view result, bool wanted) {
  return !impl_of(model).ranks.link || (wanted && r.executor.has_output(result));
}

// A step of the other ranks, if there are any, until it is destroyed.
class StepOfOthers {
 public:
  StepOfOthers(OtherRanks* others, std::span<const StepToken> tokens, bool verify)
      : others_(others) {
    if (others_) others_->begin_step(tokens, verify);
  }
  ~StepOfOthers() {
    if (others_) others_->end_step(kept_);
  }
  StepOfOthers(const StepOfOthers&) = delete;
  StepOfOthers& operator=(const StepOfOthers&) = delete;

  void collect_reports() {
    if (others_) others_->collect_reports();
  }
  void keep() { kept_ = true; }

 private:
  OtherRanks* const others_;
  bool kept_ = false;
};

bool has_nan(std::span<const float> values) {
  bool found = false;
  for (const float v : values) found |= v != v;
  return found;
}

}  // namespace

void Session::Impl::check_tokens(std::span<const std::int32_t> tokens) const {
  const std::int64_t n_vocab = model->facts().n_vocab;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= n_vocab) {
      fail<ValueError>("token {} is outside the vocabulary of {}", token, n_vocab);
    }
  }
}

// Tokens that attend to later ones must come in one step with all of them.
void Session::Impl::check_starts(std::int32_t sequence) const {
  if (sequence < 0 || sequence >= planned.options.sequences) return;  // refused by the memory
  if (memory.length(sequence) == 0) return;
  fail<UnsupportedError>(
      "{}: the model reads a text as a whole, in one step of at most {} tokens; truncate the "
      "sequence to 0 first",
      model->file().path(), planned.options.prefill_width);
}

void Session::Impl::check_step(std::span<const StepToken> tokens) const {
  const SessionOptions& o = planned.options;
  std::int64_t n_rows = 0;
  for (const StepToken& t : tokens) {
    check_tokens({&t.token, 1});
    if (t.type < 0 || t.type >= model->facts().token_types) {
      fail<ValueError>("a token has type {}, the model has {} types", t.type,
                       model->facts().token_types);
    }
    n_rows += t.logits;
    if (!model->facts().causal) check_starts(t.sequence);
    if (model->facts().encodes) check_has_text(t.sequence);
  }
  if (tokens.empty() || std::ssize(tokens) > o.prefill_width) {
    fail<ValueError>("a step has 1..{} tokens, got {}", o.prefill_width, tokens.size());
  }
  if (n_rows > o.logits_rows) {
    fail<ValueError>("a step returns at most {} rows of logits, {} were requested", o.logits_rows,
                     n_rows);
  }
}

// Each token's last position of its sequence, as the sequence is after the step.
void Session::Impl::write_ends(Runner& r, std::span<const StepToken> tokens) {
  const auto end = [&](std::size_t i) -> std::int64_t& {
    return ends[static_cast<std::size_t>(tokens[i].sequence)];
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) end(i) = memory.step()[i].position;
  for (std::size_t i = 0; i < tokens.size(); ++i) Runner::put(r.ends, i, end(i));
}

// Returns the number of rows of logits.
std::size_t Session::Impl::write_inputs(Runner& r, std::span<const StepToken> tokens) {
  std::size_t n_rows = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Runner::put(r.tokens, i, tokens[i].token);
    Runner::put(r.pos, i, memory.step()[i].position);
    Runner::put(r.types, i, tokens[i].type);
    write_scales(r, i, tokens[i].sequence);
    if (tokens[i].logits) Runner::put(r.out_rows, n_rows++, static_cast<std::int64_t>(i));
  }
  if (!r.ends.empty()) write_ends(r, tokens);
  memory.write_inputs(r.memory);
  if (model->facts().encodes) write_encoded(r, tokens);
  // An extent is at least 1: if no logits are requested, one row is computed and ignored.
  if (n_rows == 0) Runner::put(r.out_rows, 0, 0);
  r.extents[r.t] = static_cast<std::int64_t>(tokens.size());
  r.extents[r.o] = static_cast<std::int64_t>(std::max<std::size_t>(n_rows, 1));
  return n_rows;
}

void Session::Impl::check_logits(std::span<const StepToken> tokens, const View& rows) const {
  if (sampled) return;
  std::int64_t row = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].logits) continue;
    if (has_nan({rows.row<const float>(row++), static_cast<std::size_t>(rows.cols())})) {
      fail<NanError>("{}: logits are NaN at position {}: weights or file damaged; run weft verify",
                     model->file().path(), memory.step()[i].position);
    }
  }
}

void Session::Impl::run(Runner& r, RunOptions options) {
  if (!options.cancel) options.cancel = planned.options.cancel;
  if (planned.options.poll) options.poll = &poll;
  options.check = [this] { files.check_mapped(); };
  try {
    r.executor.run(r.extents, options);
  } catch (const CancelledError&) {
    if (stream) stream->rethrow();
    throw;
  }
  files.check_mapped();
}

void Session::Impl::keep_step(std::span<const StepToken> tokens) {
  memory.append();
  for (const auto& party : parties) party->appended(tokens);
}

Session::Impl::PreparedStep Session::Impl::prepare(std::span<const StepToken> tokens) {
  Runner& r = runner(planned.plan_for(std::ssize(tokens)));
  files.check();
  return {r, write_inputs(r, tokens)};
}

std::span<const float> Session::Impl::compute(const PreparedStep& step,
                                              std::span<const StepToken> tokens,
                                              const std::atomic<bool>* cancel,
                                              NodeObserver* observer) {
  const auto& [r, n_rows] = step;
  const bool results = n_rows > 0;
  run(r, {.cancel = cancel, .observer = observer, .results = results});
  if (stream) stream->count_rows(std::ssize(tokens));
  const std::string_view result = planned.options.embeddings ? "embeddings" : "logits";
  if (!gives(*model, r, result, results)) return {};
  const View rows = r.executor.output(result);
  check_logits(tokens, rows);
  if (planned.options.draft_layer) drafts.stage(tokens, memory, r);
  if (n_rows == 0) return {};
  const auto width = static_cast<std::size_t>(rows.cols());
  last = {rows.row<const float>(static_cast<std::int64_t>(n_rows - 1)), width};
  return {rows.row<const float>(0), n_rows * width};
}

std::span<const float> Session::Impl::step(std::span<const StepToken> tokens,
                                           const std::atomic<bool>* cancel,
                                           NodeObserver* observer) {
  last = {};
  drafts.read_staged(cancel);
  memory.begin(tokens);
  try {
    const PreparedStep step = prepare(tokens);
    StepOfOthers of_others(others, tokens, observer && observer->verifies());
    const std::span<const float> rows = compute(step, tokens, cancel, observer);
    of_others.collect_reports();
    keep_step(tokens);
    of_others.keep();
    return rows;
  } catch (...) {
    last = {};
    memory.rollback();
    throw;
  }
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : Session{plan_model(*model, options), std::move(model)} {}  // braces: from left to right
Session::Session(PlannedModel planned, std::shared_ptr<const Model> model)
    : impl_(std::make_unique<Impl>(std::move(model), std::move(planned))) {}
Session::~Session() = default;

void Session::feed(std::int32_t sequence, std::span<const std::int32_t> tokens,
                   const std::atomic<bool>* cancel,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Impl& s = *impl_;
  s.memory.lengths().check_grows(sequence);
  s.check_tokens(tokens);
  if (s.model->facts().encodes) s.check_has_text(sequence);
  s.memory.check_room(sequence, length(sequence) + std::ssize(tokens));
  const auto chunk =
      static_cast<std::size_t>(prompt_chunk(*s.model, std::ssize(s.chunk), std::ssize(tokens)));
  for (std::size_t done = 0; done < tokens.size();) {
    const std::size_t n = std::min(tokens.size() - done, chunk);
    for (std::size_t i = 0; i < n; ++i) {
      s.chunk[i] = {
          .token = tokens[done + i], .sequence = sequence, .logits = done + i + 1 == tokens.size()};
    }
    s.step({s.chunk.data(), n}, cancel, nullptr);
    done += n;
    if (progress) {
      progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(tokens.size()));
    }
  }
}

std::span<const float> Session::step(std::span<const StepToken> tokens,
                                     const std::atomic<bool>* cancel, NodeObserver* observer) {
  impl_->check_step(tokens);
  return impl_->step(tokens, cancel, observer);
}

std::span<const float> Session::draft(std::int32_t sequence, std::int32_t token, bool after_guesses,
                                      const std::atomic<bool>* cancel) {
  Impl& s = *impl_;
  if (!s.planned.options.draft_layer)
    fail<ValueError>("the session has no draft layer (SessionOptions::draft_layer)");
  s.check_tokens({&token, 1});
  s.last = {};
  return s.drafts.draft(sequence, length(sequence), token, after_guesses, cancel);
}

std::span<const float> Session::logits() const {
  if (impl_->last.empty()) fail<ValueError>("no logits: the last step requested none");
  return impl_->last;
}

const Model& Session::model() const {
  return *impl_->model;
}
const SessionOptions& Session::options() const {
  return impl_->planned.options;
}
const MemoryUse& Session::memory() const {
  return impl_->planned.memory;
}
const Residency& Session::residency() const {
  return impl_->planned.residency;
}
StreamStats Session::stream_stats() const {
  return impl_->stream ? impl_->stream->stats() : StreamStats();
}
std::int64_t Session::allocated_bytes() const {
  std::int64_t sum =
      impl_->weight_bytes() + impl_->states.size() + impl_->arena.size() + impl_->scratch.size();
  for (const auto& party : impl_->parties) sum += party->bytes();
  return sum;
}
std::int64_t Session::allocated_on_devices() const {
  std::int64_t sum = 0;
  for (const auto& device : impl_->devices) sum += device->bytes();
  return sum;
}
const std::vector<std::string>& Session::concessions() const {
  return impl_->planned.concessions;
}
std::size_t Session::n_plans() const {
  return impl_->planned.plans.size();
}
std::size_t Session::n_step_plans() const {
  return impl_->planned.n_step_plans;
}
const Plan& Session::plan(std::size_t i) const {
  return impl_->planned.plans.at(i);
}
const Graph& Session::graph(std::size_t i) const {
  return impl_->planned.graphs.at(i);
}
std::size_t Session::plan_for(std::int64_t n_tokens, arch::GraphPart part) const {
  return impl_->planned.plan_for(n_tokens, part);
}

}  // namespace weft
