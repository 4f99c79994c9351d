// One step of an engine: which tokens it computes, and what becomes of its results.
#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "engine/engine_impl.h"

namespace weft {

using namespace serve;

namespace {

// Tokens that a grammar forces are fed at once, together with the new tokens of other texts.
constexpr std::int64_t kMaxForced = 32;

}  // namespace

// Texts that generate have all of their tokens in the step, prompts share what remains.
void Engine::Impl::set_quotas() {
  std::ranges::sort(running, {}, [](const Slot* slot) { return slot->text->started; });
  quotas.clear();
  limits.clear();  // pending tokens of prompts
  n_text_tokens = 0;
  const auto is_prompt = [](const EngineText& text) {
    const std::int64_t n = text.generation->n_pending();
    return n > kMaxForced || (n > 1 && text.computes_prompt());
  };
  for (const Slot* slot : running) {
    const std::int64_t n = slot->text->generation->n_pending();
    quotas.push_back(n);
    if (is_prompt(*slot->text))
      limits.push_back(n);
    else
      n_text_tokens += n;
  }
  const std::int64_t n_pending = std::accumulate(limits.begin(), limits.end(), std::int64_t{0});
  const auto shares = divide_among_prompts(pacing.prompt_tokens(n_text_tokens, n_pending), limits);
  std::size_t next = 0;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (is_prompt(*running[i]->text)) quotas[i] = shares[next++];
}

void Engine::Impl::step() {
  running.clear();
  for (Slot& slot : slots.all())
    if (slot.text) running.push_back(&slot);
  if (running.empty()) return;
  set_quotas();
  compute(running);
}

// REQUIRES: `some` are of `running`.
void Engine::Impl::compute(std::span<Slot* const> some) {
  generations.clear();
  requests.clear();
  limits.clear();
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (std::ranges::find(some, running[i]) == some.end()) continue;
    generations.push_back(&*running[i]->text->generation);
    requests.push_back(running[i]->text->request.get());
    limits.push_back(quotas[i]);
  }
  if (!inbox.begin_step(requests)) return;
  const std::int64_t n_before = n_fed(some);
  NodeObserver* const observer = begin_watching(some);
  const Clock::time_point begin = Clock::now();
  std::span<const Batch::Event> events;
  std::exception_ptr error;
  bool is_short_of_memory = false;
  try {
    events = batch.step(generations, &inbox.abort_step(), limits, observer);
  } catch (const BudgetError&) {
    error = std::current_exception();
    is_short_of_memory = true;
  } catch (...) {
    error = std::current_exception();
  }
  const double seconds = seconds_since(begin);
  inbox.end_step(!inbox.abort_step());
  if (is_short_of_memory) return make_room(error);
  if (error && some.size() > 1) return compute_each({some.begin(), some.end()});
  if (error) return slots.fail_request(some[0]->text->request, error);
  if (const std::int64_t n = n_fed(some) - n_before; n > 0) count_step(seconds, n);
  if (observer) tell_watchers(some);
  for (Slot* slot : some) report_prompt(*slot);
  for (const Batch::Event& event : events) collect(event);
}

// A step failed: computes each text in a step of its own, so that only those fail that cause it.
void Engine::Impl::compute_each(std::vector<Slot*> some) {
  for (Slot* slot : some) {
    if (slot->text) compute({&slot, 1});
  }
}

// There were too few cells for the step. It is repeated afterwards.
void Engine::Impl::make_room(const std::exception_ptr& error) {
  if (store.evict()) return;
  if (slots.n_running() > 1) return slots.preempt_youngest();
  for (Slot* slot : running)
    if (slot->text) return slots.fail_request(slot->text->request, error);
}

std::int64_t Engine::Impl::n_fed(std::span<Slot* const> some) const {
  std::int64_t n = 0;
  for (const Slot* slot : some) n += std::ssize(slot->text->generation->held());
  return n;
}

void Engine::Impl::count_step(double seconds, std::int64_t n_fed) {
  const std::int64_t n_texts = std::min(n_text_tokens, n_fed);
  const double of_texts = n_texts == n_fed ? seconds
                          : n_texts == 0   ? 0
                                           : std::min(seconds, pacing.seconds_of(n_texts));
  pacing.measured(n_texts, n_fed - n_texts, seconds);
  inbox.update_state([&](EngineState& s) {
    ++s.counters.steps;
    s.counters.prompt_tokens += static_cast<std::uint64_t>(n_fed - n_texts);
    s.counters.new_seconds += of_texts;
    s.counters.prompt_seconds += seconds - of_texts;
    for (const Slot* slot : running) {
      if (!slot->text) continue;
      SlotState& state = s.slots[static_cast<std::size_t>(slot->index)];
      state.n_held = std::ssize(slot->text->generation->held());
      state.n_new = slot->text->generation->n_new();
    }
  });
}

void Engine::Impl::report_prompt(Slot& slot) {
  EngineText& text = *slot.text;
  EngineRequest& request = *text.request;
  const Generation& g = *text.generation;
  if (request.prompt_reported || text.index > 0) return;
  const std::int64_t done = std::min<std::int64_t>(std::ssize(g.held()), g.n_prompt());
  if (done != std::exchange(text.n_reported, done))
    notify(request, [&](TextListener& l) { l.on_prompt_progress(done, g.n_prompt()); });
  if (done < g.n_prompt()) return;
  request.prompt_reported = true;
  store.keep_resume_point(slot.index);
  const std::chrono::duration<double> waited = text.started - request.submitted;
  const auto logprobs = g.prompt_logprobs();
  PromptDone report{.slot = slot.index,
                    .n_prompt = g.n_prompt(),
                    .n_reused = text.n_reused,
                    .seconds_waiting = waited.count(),
                    .seconds = seconds_since(text.started),
                    .why_not_reused = text.why_not_reused,
                    .logprobs = {logprobs.begin(), logprobs.end()}};
  notify(request, [&](TextListener& l) { l.on_prompt(report); });
}

void Engine::Impl::collect(const Batch::Event& from) {
  const auto has = [&](const Slot* slot) {
    return slot->text && &*slot->text->generation == from.generation;
  };
  const auto found = std::ranges::find_if(running, has);
  if (found == running.end()) return;  // its request has failed with another of its texts
  Slot& slot = **found;
  EngineText& text = *slot.text;
  if (from.error) return slots.fail_request(text.request, from.error);
  GenerationEvent event = from.event;
  if (event.token != kNoToken && event.stop != StopReason::end_of_text) {
    text.last_token = Clock::now();
    if (text.generation->n_new() == 1) text.first_token = text.last_token;
    inbox.update_state([](EngineState& s) { ++s.counters.new_tokens; });
    const StopReason stop = std::exchange(event.stop, StopReason::none);
    notify(*text.request, [&](TextListener& l) { l.on_token(text.index, event); });
    event = {.stop = stop};
  }
  if (event.stop != StopReason::none) slots.end_text(slot, event);
}

}  // namespace weft
