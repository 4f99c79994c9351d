#include "weft/serve/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"

#include "engine/engine_impl.h"

namespace weft {

SlotState SlotState::seen_by(std::string_view viewer) const {
  SlotState seen = *this;
  if (owner == viewer) return seen;
  seen.request = 0;
  seen.why_not_reused.clear();
  seen.owner.clear();
  return seen;
}
namespace {

using namespace serve;

// Leaves its sequence empty. Throws CancelledError if the progress of loading says to stop.
void warm_up(Session& session, SequenceStore& store) {
  const auto& progress = session.options().progress;
  constexpr std::array<TokenId, 2> kTokens{0, 0};
  try {
    for (const std::size_t n : {std::size_t{2}, std::size_t{1}}) {
      if (progress && !progress(1)) fail<CancelledError>("loading was stopped");
      if (session.options().context >= std::int64_t(n))
        session.feed(0, std::span(kTokens).first(n));
      store.clear(0);
    }
  } catch (const NanError&) {  // requests report it themselves
    store.clear(0);
  }
}

class NobodyListens : public TextListener {
  void on_prompt_progress(std::int64_t, std::int64_t) override {}
  void on_prompt(const PromptDone&) override {}
  void on_token(std::int32_t, const GenerationEvent&) override {}
  void on_end(std::int32_t, const GenerationEvent&, const TextEnd&) override {}
  void on_error(std::exception_ptr) override {}
};

// The memory of a request and its texts: ids of tokens, thrice, with those that are generated.
std::int64_t bytes_of(const TextRequest& wanted, std::int64_t context) {
  constexpr std::int64_t kEach = 16 << 10, kPerToken = 3 * sizeof(TokenId);
  const std::int64_t n_prompt = std::ssize(wanted.prompt);
  const std::int64_t most = wanted.generation.max_tokens;
  const std::int64_t n_new = most < 0 ? context - n_prompt : std::min(most, context - n_prompt);
  return wanted.texts * (kEach + kPerToken * (n_prompt + n_new));
}

EngineOptions with_offer(EngineOptions options, const MemoryOffer& offer) {
  options.slots = options.speculation.n_sequences = offer.slots;
  options.session = asked_session(options);
  return options;
}

}  // namespace

Engine::Impl::Impl(std::shared_ptr<const Model> m, const EngineOptions& o)
    : model(std::move(m)),
      offer(plan_memory(*model, engine_demand(*model, o))),
      options(with_offer(o, offer)),
      memory_use(offer.memory()),
      session(std::move(offer.planned), model),
      speculation(session, options.speculation, std::move(offer.drafts)),
      inbox(options.slots, o.max_waiting),
      store(session, inbox),
      files(session, store),
      moved(session, store),
      disk(session, store, inbox, options.snapshots),
      slots(session, speculation, inbox, queue, store, moved, disk, options.slots),
      stepper(session, inbox, slots, store, moved, o),
      embedders(model, session, options.session),
      guard(session, store, stepper, inbox, options.memory_guard) {
  const auto scales = session.lora_scales(0);
  lora_scales.assign(scales.begin(), scales.end());
  session_options = session.options();
  context = session.options().context;
  if (o.warm_up && model->facts().gives_text() && !model->facts().encodes) warm_up(session, store);
  if (!model->facts().gives_text()) {
    const Embedder& embedder = embedders.get({});
    memory_use = embedder.session().memory();
    session_options = embedder.session().options();
    context = embedder.max_tokens();
  }
  const std::int64_t allocated = session.allocated_bytes();
  inbox.update_state([&](EngineState& s) { s.allocated_bytes = allocated; });
  thread = std::thread([this] { loop(); });
}

Engine::Impl::~Impl() {
  inbox.stop();
  thread.join();
}

void Engine::Impl::check(const TextRequest& wanted) const {
  const GenerationOptions& g = wanted.generation;
  const SessionOptions& o = session.options();
  const std::int64_t n_vocab = model->facts().n_vocab;
  if (!model->facts().gives_text())
    fail<UnsupportedError>("{}: the model gives embeddings, not text", model->file().path());
  if (wanted.prompt_logprobs) static_cast<void>(model->tokenizer());  // throws if there is none
  if (wanted.prompt.empty()) fail<ValueError>("a prompt needs at least one token");
  const std::int64_t longest = model->facts().encodes ? o.prefill_width : o.context;
  if (std::ssize(wanted.prompt) > longest)
    fail<ValueError>("the prompt has {} tokens, the {} {}", wanted.prompt.size(),
                     model->facts().encodes ? "encoder reads at most" : "context holds", longest);
  for (const TokenId token : wanted.prompt) {
    if (token < 0 || token >= n_vocab)
      fail<ValueError>("token {} is outside the vocabulary of {}", token, n_vocab);
  }
  for (const std::int64_t n : wanted.marks)
    if (n < 0 || n > std::ssize(wanted.prompt))
      fail<ValueError>("a mark after {} tokens, the prompt has {}", n, wanted.prompt.size());
  if (wanted.moved.min_tokens < 0 || !(wanted.moved.repeated_share >= 0) ||
      wanted.moved.repeated_share > 1)
    fail<ValueError>(
        "parts of at least {} tokens, of which {} are computed again: must be at "
        "least 0, and from 0 to 1",
        wanted.moved.min_tokens, wanted.moved.repeated_share);
  if (wanted.texts < 1) fail<ValueError>("a request needs at least 1 text, got {}", wanted.texts);
  if (wanted.slot < -1 || wanted.slot >= options.slots)
    fail<ValueError>("no slot {}: the engine has {}", wanted.slot, options.slots);
  if (g.choose || g.feed_last || g.draft || g.cancel)
    fail<ValueError>("`choose`, `feed_last`, `draft` and `cancel` cannot be set for an engine");
  check_context_end(session, g.context_end);
  if (g.lora_scales) check_lora_scales(*g.lora_scales);
}

std::shared_ptr<EngineRequest> Engine::Impl::request(TextRequest&& wanted) {
  check(wanted);
  auto request = std::make_shared<EngineRequest>();
  request->memory.require(bytes_of(wanted, context));
  GenerationOptions& g = wanted.generation;
  const Sampler checked(g.sampler);
  TextRulesOptions& rules = g.rules;
  if (rules.grammar || !rules.stops.empty() || !rules.banned.empty()) {
    if (!rules.tree && (rules.grammar || !rules.banned.empty())) rules.tree = token_tree();
    request->rules.emplace(model->tokenizer(), rules);
  }
  if (!g.lora_scales) {
    const std::lock_guard lock(lora_mutex);
    g.lora_scales = lora_scales;
  }
  g.feed_prompt = true;
  g.cancel = &request->cancelled;
  request->wanted = std::move(wanted);
  request->submitted = Clock::now();
  return request;
}

RequestId Engine::Impl::submit(TextRequest&& wanted, std::shared_ptr<TextListener> listener) {
  auto made = request(std::move(wanted));
  made->listener = std::move(listener);
  return inbox.submit(std::move(made));
}

void Engine::Impl::prepare(TextRequest&& wanted) {
  if (model->facts().encodes || !wanted.reuse) return;
  if (!may_prepare(inbox.state().counters, options.prepare_share)) return;
  TextRequest prompt{.prompt = std::move(wanted.prompt),
                     .owner = std::move(wanted.owner),
                     .marks = std::move(wanted.marks),
                     .moved = wanted.moved};
  prompt.generation.max_tokens = 0;
  prompt.generation.lora_scales = std::move(wanted.generation.lora_scales);
  auto made = request(std::move(prompt));
  made->listener = std::make_shared<NobodyListens>();
  inbox.prepare(std::move(made));
}

std::shared_ptr<const TokenTree> Engine::Impl::token_tree() {
  std::call_once(tree_once, [&] { tree = std::make_shared<const TokenTree>(model->tokenizer()); });
  return tree;
}

std::string_view to_string(MemoryLevel level) {
  switch (level) {
    case MemoryLevel::enough:
      return "enough";
    case MemoryLevel::evicting:
      return "evicts texts that ended";
    case MemoryLevel::narrow:
      return "computes prompts in narrow steps";
    case MemoryLevel::refusing:
      return "refuses new requests";
  }
  return "";
}

// The bindings name all members: a new one does not compile until it is added here.
SnapshotCounters& SnapshotCounters::operator+=(const SnapshotCounters& more) {
  auto& [a_tokens, a_bytes, a_seconds, a_written, a_removed, a_failed, a_slower] = *this;
  const auto& [b_tokens, b_bytes, b_seconds, b_written, b_removed, b_failed, b_slower] = more;
  a_tokens += b_tokens, a_bytes += b_bytes, a_seconds += b_seconds;
  a_written += b_written, a_removed += b_removed, a_failed += b_failed, a_slower += b_slower;
  return *this;
}

EngineCounters& EngineCounters::operator+=(const EngineCounters& more) {
  auto& [a_requests, a_cancelled, a_failed, a_prompt, a_continued, a_from_start, a_evicted,
         a_levels, a_reused, a_new, a_steps, a_moved, a_prompt_s, a_new_s, a_prepared, a_prepared_s,
         a_drafted, a_right, a_drafting_s, a_without_s, a_read, a_hits, a_misses, a_wait_s,
         a_dropped, a_snapshots] = *this;
  const auto& [b_requests, b_cancelled, b_failed, b_prompt, b_continued, b_from_start, b_evicted,
               b_levels, b_reused, b_new, b_steps, b_moved, b_prompt_s, b_new_s, b_prepared,
               b_prepared_s, b_drafted, b_right, b_drafting_s, b_without_s, b_read, b_hits,
               b_misses, b_wait_s, b_dropped, b_snapshots] = more;
  a_requests += b_requests, a_cancelled += b_cancelled, a_failed += b_failed;
  a_prompt += b_prompt, a_reused += b_reused, a_new += b_new, a_steps += b_steps;
  a_prompt_s += b_prompt_s, a_new_s += b_new_s;
  a_continued += b_continued, a_from_start += b_from_start, a_evicted += b_evicted;
  a_moved += b_moved;
  a_prepared += b_prepared, a_prepared_s += b_prepared_s;
  a_drafted += b_drafted, a_right += b_right;
  a_drafting_s += b_drafting_s, a_without_s += b_without_s;
  a_read += b_read, a_hits += b_hits, a_misses += b_misses, a_wait_s += b_wait_s;
  a_dropped += b_dropped;
  a_snapshots += b_snapshots;
  a_levels += b_levels;
  return *this;
}

Engine::Engine(std::shared_ptr<const Model> model, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Engine::~Engine() = default;

RequestId Engine::submit(TextRequest request, std::shared_ptr<TextListener> listener) {
  return impl_->submit(std::move(request), std::move(listener));
}
void Engine::prepare(TextRequest request) {
  impl_->prepare(std::move(request));
}
void Engine::cancel(RequestId id) {
  impl_->inbox.cancel(id);
}
EngineState Engine::state() const {
  EngineState state = impl_->inbox.state();
  const StreamStats stream = impl_->session.stream_stats();
  const StreamStats::Group experts = stream.all_groups();
  state.counters.weight_bytes_read = static_cast<std::uint64_t>(stream.bytes_read);
  state.counters.experts_in_memory = static_cast<std::uint64_t>(experts.hits);
  state.counters.experts_missing = static_cast<std::uint64_t>(experts.misses);
  state.counters.weight_wait_seconds = static_cast<double>(stream.total_wait_ns()) / 1e9;
  return state;
}
const Model& Engine::model() const {
  return *impl_->model;
}
std::int64_t Engine::context() const {
  return impl_->context;
}
std::int32_t Engine::n_slots() const {
  return impl_->options.slots;
}
const MemoryUse& Engine::memory() const {
  return impl_->memory_use;
}
const std::vector<std::string>& Engine::concessions() const {
  return impl_->offer.concessions;
}
const std::string& Engine::why_not_moved() const {
  return impl_->moved.why_not();
}
void Engine::check(const ContextEndOptions& context_end) const {
  check_context_end(impl_->session, context_end);
}
const SessionOptions& Engine::session_options() const {
  return impl_->session_options;
}
bool Engine::wait_idle(Clock::time_point until) {
  return impl_->inbox.wait_idle(until);
}

}  // namespace weft
