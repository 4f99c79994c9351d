#include "engine/engine_stepper.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/base/error.h"

#include "engine/engine_inbox.h"
#include "engine/engine_slots.h"
#include "engine/moved_texts.h"
#include "generation/generation_impl.h"

namespace weft::serve {
namespace {

// Tokens that a grammar forces are fed at once, together with the new tokens of other texts.
constexpr std::int64_t kMaxForced = 32;
// The time for grammars between two steps of the model, and the steps of a grammar between two
// looks at the clock.
constexpr std::chrono::milliseconds kPreparing{1};
constexpr std::uint64_t kSlice = 20'000;
// Tokens that a text takes from other positions between two steps of others.
constexpr std::int64_t kMovedBesideOthers = 128;

std::vector<PromptPacing::Width> widths(const Session& session) {
  std::vector<PromptPacing::Width> all;
  for (std::size_t i = 0; i < session.n_step_plans(); ++i) {
    const Plan& plan = session.plan(i);
    const auto t = std::ranges::find(plan.variables, "T", &Variable::name);
    all.push_back({t->bound, static_cast<double>(plan.predicted_ns) * 1e-9});
  }
  return all;
}

}  // namespace

bool may_prepare(const EngineCounters& counters, double share) {
  const double all = counters.prompt_seconds + counters.new_seconds + counters.prepared_seconds;
  return counters.prepared_seconds < share * all;
}

EngineStepper::EngineStepper(Session& session, EngineInbox& inbox, EngineSlots& slots,
                             SequenceStore& store, MovedTexts& moved, const EngineOptions& options)
    : session_(session),
      inbox_(inbox),
      slots_(slots),
      store_(store),
      moved_(moved),
      batch_(session),
      prepare_share_(options.prepare_share),
      pacing_(widths(session), options.prompt_tokens_per_step),
      profile_(session) {}

// Texts that generate have all of their tokens in the step, prompts share what remains.
void EngineStepper::set_quotas() {
  std::ranges::sort(running_, {}, [](const EngineSlot* slot) { return slot->text->started; });
  quotas_.clear();
  limits_.clear();  // pending tokens of prompts
  n_text_tokens_ = n_prompt_ends_ = 0;
  const auto is_prompt = [](const EngineText& text) {
    const std::int64_t n = text.n_to_compute();
    return n > kMaxForced || (n > 1 && text.computes_prompt());
  };
  for (const EngineSlot* slot : running_) {
    const std::int64_t n = slot->text->n_to_compute();
    quotas_.push_back(n);
    if (is_prompt(*slot->text))
      limits_.push_back(n);
    else
      n_text_tokens_ += n;
    if (n == 1 && slot->text->computes_prompt()) ++n_prompt_ends_;
  }
  const std::int64_t n_pending = std::accumulate(limits_.begin(), limits_.end(), std::int64_t{0});
  std::int64_t n_tokens = pacing_.prompt_tokens(n_text_tokens_, n_pending);
  if (max_prompt_tokens_ > 0) n_tokens = std::min(n_tokens, max_prompt_tokens_);
  const auto shares = divide_among_prompts(n_tokens, limits_);
  std::size_t next = 0;
  for (std::size_t i = 0; i < running_.size(); ++i)
    if (is_prompt(*running_[i]->text)) quotas_[i] = shares[next++];
}

// Leaves out of the step those that have to choose a token but are not ready for it.
void EngineStepper::prepare_masks() {
  const Clock::time_point until = Clock::now() + kPreparing;
  late_.clear();
  std::ranges::rotate(running_,
                      running_.begin() + static_cast<std::ptrdiff_t>(turn_++ % running_.size()));
  for (const EngineSlot* slot : running_) {
    if (!slot->text || !slot->text->request->rules) continue;
    const std::shared_ptr<EngineRequest> request = slot->text->request;
    if (std::ranges::find(late_, request.get()) != late_.end()) continue;
    try {
      if (!prepare_masks_of(*request, until)) late_.push_back(request.get());
    } catch (...) {
      slots_.fail_request(request, std::current_exception());
    }
  }
  const std::int64_t width = session_.options().prefill_width;
  std::erase_if(running_, [&](const EngineSlot* slot) {
    if (!slot->text) return true;
    const bool late = std::ranges::find(late_, slot->text->request.get()) != late_.end();
    return late && slot->text->generation->n_pending() <= width;
  });
}

// Texts of a request share the work, so none of them runs before all are ready.
bool EngineStepper::prepare_masks_of(const EngineRequest& request, Clock::time_point until) {
  const auto is_of = [&](const EngineSlot& slot) {
    return slot.text && slot.text->request.get() == &request;
  };
  // In the same order every time: an unfinished mask is lost when that of another text is begun.
  for (const EngineSlot& slot : slots_.all()) {
    if (!is_of(slot)) continue;
    Generation& text = *slot.text->generation;
    while (!serve::rules_are_ready(text)) {
      if (request.cancelled || Clock::now() > until) return false;
      serve::prepare_rules(text, kSlice);
    }
  }
  return std::ranges::all_of(running_, [&](const EngineSlot* slot) {
    return !is_of(*slot) || serve::rules_are_ready(*slot->text->generation);
  });
}

void EngineStepper::step() {
  running_.clear();
  for (EngineSlot& slot : slots_.all())
    if (slot.text) running_.push_back(&slot);
  if (running_.empty()) return;
  prepare_masks();
  if (running_.empty()) return;
  take_moved_parts();
  if (running_.empty()) return;
  drop_old_tokens();
  if (running_.empty()) return;
  set_quotas();
  compute(running_);
}

// Before the step, each text that has come to a part takes a piece of it.
void EngineStepper::take_moved_parts() {
  for (EngineSlot* slot : running_) {
    if (slot->text && !slot->text->parts.empty() && slot->text->n_to_compute() == 0)
      take_moved_part(*slot);
  }
  std::erase_if(running_, [](const EngineSlot* slot) { return !slot->text; });
}

// Before the step, texts whose contexts are full lose tokens, if they are to go on. The loop ends:
// each round takes tokens from the text, or, for want of memory, from what is idle, or takes a
// running text out of its slot.
void EngineStepper::drop_old_tokens() {
  for (EngineSlot* slot : running_)
    while (slot->text && needs_drop(impl_of(*slot->text->generation))) drop_old_tokens(*slot);
  std::erase_if(running_, [](const EngineSlot* slot) { return !slot->text; });
}

void EngineStepper::drop_old_tokens(EngineSlot& slot) {
  EngineText& text = *slot.text;
  const std::int64_t n_before = n_dropped(*text.generation);
  text.has_moved_parts = text.has_dropped = true;  // before: no other text continues from it
  store_.attach(slot.index, text);
  try {
    serve::drop_old_tokens(impl_of(*text.generation));
  } catch (const BudgetError&) {
    return make_room(std::current_exception());
  } catch (...) {
    return slots_.fail_request(text.request, std::current_exception());
  }
  const std::int64_t n = n_dropped(*text.generation) - n_before;
  if (n < 1) {
    const BudgetError error("the context is full, and no token of it can be dropped");
    return slots_.fail_request(text.request, std::make_exception_ptr(error));
  }
  inbox_.update_state([&](EngineState& s) {
    s.counters.tokens_dropped += static_cast<std::uint64_t>(n);
    s.slots[static_cast<std::size_t>(slot.index)].n_held = std::ssize(text.generation->held());
  });
}

// Does the work of a step that has begun, and ends the step.
template <class F>
EngineStepper::Attempt EngineStepper::attempt(F work) {
  Attempt done;
  const Clock::time_point begin = Clock::now();
  try {
    work();
  } catch (const BudgetError&) {
    done.error = std::current_exception();
    done.is_short_of_memory = true;
  } catch (...) {
    done.error = std::current_exception();
  }
  done.seconds = seconds_since(begin);
  inbox_.end_step(!inbox_.abort_step());
  return done;
}

void EngineStepper::take_moved_part(EngineSlot& slot) {
  EngineText& text = *slot.text;
  EngineRequest* const request = text.request.get();
  if (!inbox_.begin_step({&request, 1})) return;
  const std::int64_t most =
      running_.size() > 1 ? kMovedBesideOthers : session_.options().prefill_width;
  MovedTexts::Taken taken;
  const Attempt done = attempt([&] {
    try {
      taken = moved_.take(text, most, &inbox_.abort_step());
    } catch (const CancelledError&) {  // the request ends before the next step, or this is repeated
    }
  });
  if (done.is_short_of_memory) return make_room(done.error);
  if (done.error) return slots_.fail_request(text.request, done.error);
  const std::int64_t n_saved = taken.n - taken.n_repeated;
  text.n_moved += n_saved;
  if (request->prepares) return count_prepared(*request, done.seconds, taken.n_repeated);
  inbox_.update_state([&](EngineState& s) {
    s.counters.prompt_tokens += static_cast<std::uint64_t>(taken.n_repeated);
    s.counters.prompt_tokens_reused += static_cast<std::uint64_t>(n_saved);
    s.counters.prompt_tokens_moved += static_cast<std::uint64_t>(n_saved);
    s.counters.prompt_seconds += done.seconds;
    s.slots[static_cast<std::size_t>(slot.index)].n_held = std::ssize(text.generation->held());
  });
  report_prompt(slot);
}

// REQUIRES: `some` are of `running_`.
void EngineStepper::compute(std::span<EngineSlot* const> some) {
  generations_.clear();
  requests_.clear();
  limits_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (std::ranges::find(some, running_[i]) == some.end()) continue;
    generations_.push_back(&*running_[i]->text->generation);
    requests_.push_back(running_[i]->text->request.get());
    limits_.push_back(quotas_[i]);
  }
  if (!inbox_.begin_step(requests_)) return;
  NodeObserver* const observer = profile_.begin(some);
  std::span<const Batch::Event> events;
  const auto [seconds, error, is_short_of_memory] =
      attempt([&] { events = batch_.step(generations_, &inbox_.abort_step(), limits_, observer); });
  if (is_short_of_memory) return make_room(error);
  if (error && some.size() > 1) return compute_each({some.begin(), some.end()});
  if (error) return slots_.fail_request(some[0]->text->request, error);
  if (const std::int64_t n = batch_.n_fed(); n > 0) count_step(*some.front(), seconds, n);
  if (observer && batch_.n_fed() > 0) profile_.notify_watchers(some);
  for (EngineSlot* slot : some) report_prompt(*slot);
  for (const Batch::Event& event : events) collect(event);
}

// A step failed: computes each text in a step of its own, so that only those fail that cause it.
void EngineStepper::compute_each(const std::vector<EngineSlot*>& some) {
  for (EngineSlot* slot : some) {
    if (slot->text) compute({&slot, 1});
  }
}

// There were too few cells for the step. It is repeated afterwards.
void EngineStepper::make_room(const std::exception_ptr& error) {
  if (store_.evict()) return;
  if (slots_.n_running() > 1) return slots_.preempt_youngest();
  for (EngineSlot* slot : running_)
    if (slot->text) return slots_.fail_request(slot->text->request, error);
}

void EngineStepper::count_step(const EngineSlot& first_slot, double seconds,
                               std::int64_t n_computed) {
  const std::int64_t n_texts = std::min(n_text_tokens_, n_computed);
  const double of_texts = n_texts == n_computed ? seconds
                          : n_texts == 0        ? 0
                                                : std::min(seconds, pacing_.seconds_of(n_texts));
  pacing_.measured(n_texts, n_computed - n_texts, seconds);
  if (n_texts == 0) store_.price().measured(n_computed, depth_of_step(), seconds);
  EngineRequest& first = *first_slot.text->request;
  if (first.prepares) return count_prepared(first, seconds, n_computed);
  slots_.count_drafts();
  const std::int64_t n_ends = std::min(n_prompt_ends_, n_texts);
  inbox_.update_state([&](EngineState& s) {
    ++s.counters.steps;
    s.counters.prompt_tokens += static_cast<std::uint64_t>(n_computed - n_texts + n_ends);
    s.counters.new_seconds += of_texts;
    s.counters.prompt_seconds += seconds - of_texts;
    for (const EngineSlot* slot : running_) {
      if (!slot->text) continue;
      SlotState& state = s.slots[static_cast<std::size_t>(slot->index)];
      state.n_held = std::ssize(slot->text->generation->held());
      state.n_new = slot->text->generation->n_new();
    }
  });
}

// A text that is prepared runs alone. It ends when its share of the time is spent.
void EngineStepper::count_prepared(EngineRequest& request, double seconds, std::int64_t n) {
  inbox_.update_state([&](EngineState& s) {
    s.counters.prepared_tokens += static_cast<std::uint64_t>(n);
    s.counters.prepared_seconds += seconds;
    if (!may_prepare(s.counters, prepare_share_)) request.cancelled = true;
  });
}

// The tokens before those of the step, on average over its texts.
double EngineStepper::depth_of_step() const {
  std::int64_t n = 0;
  for (const Generation* g : generations_) n += std::ssize(g->held());
  return static_cast<double>(n) /
         static_cast<double>(std::max<std::size_t>(generations_.size(), 1));
}

void EngineStepper::report_prompt(EngineSlot& slot) {
  EngineText& text = *slot.text;
  EngineRequest& request = *text.request;
  const Generation& g = *text.generation;
  if (request.prompt_reported || text.index > 0) return;
  const std::int64_t done = std::min<std::int64_t>(std::ssize(g.held()), g.n_prompt());
  if (done != std::exchange(text.n_reported, done))
    notify(request, [&](TextListener& l) { l.on_prompt_progress(done, g.n_prompt()); });
  if (done < g.n_prompt()) return;
  request.prompt_reported = true;
  const std::chrono::duration<double> waited = text.started - request.submitted;
  const auto logprobs = g.prompt_logprobs();
  PromptDone report{.slot = slot.index,
                    .n_prompt = g.n_prompt(),
                    .n_reused = text.n_reused + text.n_moved,
                    .seconds_waiting = waited.count(),
                    .seconds = seconds_since(text.started),
                    .why_not_reused = text.why_not_reused,
                    .n_same = text.n_same,
                    .held_instead = text.held_instead,
                    .n_moved = text.n_moved,
                    .logprobs = {logprobs.begin(), logprobs.end()}};
  notify(request, [&](TextListener& l) { l.on_prompt(report); });
}

void EngineStepper::collect(const Batch::Event& from) {
  const auto has = [&](const EngineSlot* slot) {
    return slot->text && &*slot->text->generation == from.generation;
  };
  const auto found = std::ranges::find_if(running_, has);
  if (found == running_.end()) return;  // its request has failed with another of its texts
  EngineSlot& slot = **found;
  EngineText& text = *slot.text;
  if (from.error) return slots_.fail_request(text.request, from.error);
  GenerationEvent event = from.event;
  if (event.token != kNoToken && event.stop != StopReason::end_of_text) {
    text.last_token = Clock::now();
    if (text.generation->n_new() == 1) text.first_token = text.last_token;
    inbox_.update_state([](EngineState& s) { ++s.counters.new_tokens; });
    const StopReason stop = std::exchange(event.stop, StopReason::none);
    notify(*text.request, [&](TextListener& l) { l.on_token(text.index, event); });
    event = {.stop = stop};
  }
  if (event.stop != StopReason::none) slots_.end_text(slot, event);
}

}  // namespace weft::serve
