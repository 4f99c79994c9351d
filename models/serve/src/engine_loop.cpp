// The engine's thread: requests become texts in the queue, texts get slots, steps compute them.
#include <algorithm>
#include <utility>

#include "engine_impl.h"
#include "generation_impl.h"

namespace weft {

using namespace serve;

void Engine::Impl::loop() {
  for (;;) {
    const bool continues = inbox.receive(is_busy(), arrived, tasks);
    for (const auto& request : arrived) enqueue(request);
    for (const auto& task : tasks) task();
    end_cancelled();
    if (!continues) return;
    start_texts();
    step();
  }
}

bool Engine::Impl::is_busy() const {
  return !queue.empty() || n_running() > 0;
}

std::size_t Engine::Impl::n_running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots, [](const Slot& slot) { return slot.text != nullptr; }));
}

// After those with the same priority, so that the texts of a request stay together and in order.
void Engine::Impl::enqueue(const std::shared_ptr<EngineRequest>& request) {
  const auto less_urgent = [&](const auto& text) {
    return text->request->wanted.priority < request->wanted.priority;
  };
  auto at = std::ranges::find_if(queue, less_urgent);
  for (std::int32_t i = 0; i < request->wanted.texts; ++i) {
    auto text = std::make_unique<Text>();
    text->request = request;
    text->index = i;
    at = std::next(queue.insert(at, std::move(text)));
  }
}

void Engine::Impl::end_cancelled() {
  for (Slot& slot : slots) {
    if (slot.text && slot.text->is_cancelled()) end_text(slot, slot.text->generation->next());
  }
  std::vector<std::unique_ptr<Text>> ended;
  for (auto& text : queue) {
    if (text->is_cancelled()) ended.push_back(std::move(text));
  }
  std::erase(queue, nullptr);
  for (const auto& text : ended) {
    inbox.text_starts(*text->request);
    end_unstarted(*text);
  }
}

// The events of a text that is cancelled in the queue.
void Engine::Impl::end_unstarted(Text& text) {
  GenerationEvent event{.stop = StopReason::cancelled};
  std::int64_t n_new = 0;
  if (text.generation) {
    event = text.generation->next();
    n_new = text.generation->n_new();
  }
  count_ended(text, false);
  text.request->listener->on_end(text.index, event, {event.stop, "", n_new, 0});
}

void Engine::Impl::start_texts() {
  for (std::size_t i = 0; i < queue.size();) {
    Slot* const slot = slot_for(*queue[i]);
    if (!slot) {
      ++i;
      continue;
    }
    std::unique_ptr<Text> text = std::move(queue[i]);
    queue.erase(queue.begin() + std::ptrdiff_t(i));
    start(std::move(text), *slot);
  }
}

Engine::Impl::Slot* Engine::Impl::slot_for(const Text& text) {
  const std::int32_t wanted = text.request->wanted.slot;
  Slot* best = nullptr;
  for (Slot& slot : slots) {
    if (slot.text || (wanted >= 0 && slot.index != wanted)) continue;
    if (!best || slot.used < best->used) best = &slot;
  }
  return best;
}

void Engine::Impl::start(std::unique_ptr<Text> text, Slot& slot) {
  EngineRequest& request = *text->request;
  inbox.text_starts(request);
  text->started = Clock::now();
  slot.text = std::move(text);
  GenerationOptions o = request.wanted.generation;
  o.sampler.seed += static_cast<std::uint64_t>(slot.text->index);
  try {
    std::optional<Generation>& generation = slot.text->generation;
    generation.emplace(Generation::Impl::with_rules(session, slot.index, o, request.rules));
    if (std::ssize(slot.held) == session.length(slot.index))
      generation->adopt(std::exchange(slot.held, {}));
    generation->begin(request.wanted.prompt);
  } catch (...) {
    return fail_text(slot, std::current_exception());
  }
  slot.text->n_reused = slot.text->generation->n_reused();
  inbox.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(slot.index)];
    state = {.slot = slot.index, .busy = true, .request = request.id};
    state.n_prompt = slot.text->generation->n_prompt();
    state.n_held = slot.text->n_reused;
    ++s.n_running;
  });
}

void Engine::Impl::step() {
  running.clear();
  generations.clear();
  requests.clear();
  for (Slot& slot : slots) {
    if (!slot.text) continue;
    running.push_back(&slot);
    generations.push_back(&*slot.text->generation);
    requests.push_back(slot.text->request.get());
  }
  if (running.empty() || !inbox.begin_step(requests)) return;
  const Clock::time_point begin = Clock::now();
  std::span<const Batch::Event> events;
  std::exception_ptr error;
  try {
    events = batch.step(generations, &inbox.abort_step());
  } catch (...) {
    error = std::current_exception();
  }
  inbox.end_step(!inbox.abort_step());
  if (error) {
    for (Slot* slot : running) fail_text(*slot, error);
    return;
  }
  count_step(seconds_since(begin));
  for (Slot* slot : running) report_prompt(*slot);
  for (const Batch::Event& event : events) collect(event);
}

void Engine::Impl::count_step(double) {
  inbox.update_state([&](EngineState& s) {
    ++s.counters.steps;
    for (const Slot* slot : running) {
      SlotState& state = s.slots[static_cast<std::size_t>(slot->index)];
      state.n_held = std::ssize(slot->text->generation->held());
      state.n_new = slot->text->generation->n_new();
    }
  });
}

void Engine::Impl::report_prompt(Slot& slot) {
  Text& text = *slot.text;
  EngineRequest& request = *text.request;
  const Generation& g = *text.generation;
  if (request.prompt_reported) return;
  const std::int64_t done = std::min<std::int64_t>(std::ssize(g.held()), g.n_prompt());
  if (done != text.n_reported) request.listener->on_prompt_progress(done, g.n_prompt());
  text.n_reported = done;
  if (done < g.n_prompt()) return;
  request.prompt_reported = true;
  const std::chrono::duration<double> waited = text.started - request.submitted;
  request.listener->on_prompt({.slot = slot.index,
                               .n_prompt = g.n_prompt(),
                               .n_reused = text.n_reused,
                               .seconds_waiting = waited.count(),
                               .seconds = seconds_since(text.started),
                               .why_not_reused = text.why_not_reused,
                               .logprobs = {}});
}

void Engine::Impl::collect(const Batch::Event& from) {
  const auto has = [&](const Slot* s) {
    return s->text && &*s->text->generation == from.generation;
  };
  Slot& slot = **std::ranges::find_if(running, has);
  if (from.error) return fail_text(slot, from.error);
  Text& text = *slot.text;
  GenerationEvent event = from.event;
  if (event.token != kNoToken && event.stop != StopReason::end_of_text) {
    text.last_token = Clock::now();
    if (text.generation->n_new() == 1) text.first_token = text.last_token;
    const StopReason stop = std::exchange(event.stop, StopReason::none);
    text.request->listener->on_token(text.index, event);
    event = {.stop = stop};
  }
  if (event.stop != StopReason::none) end_text(slot, event);
}

void Engine::Impl::end_text(Slot& slot, const GenerationEvent& event) {
  const std::unique_ptr<Text> text = release(slot);
  const Generation& g = *text->generation;
  const std::chrono::duration<double> seconds = text->last_token - text->first_token;
  const TextEnd end{event.stop, std::string(g.stop_string()), g.n_new(), seconds.count()};
  count_ended(*text, false);
  text->request->listener->on_end(text->index, event, end);
}

void Engine::Impl::count_ended(const Text& text, bool failed) {
  EngineRequest& request = *text.request;
  request.n_ended = failed ? request.wanted.texts : request.n_ended + 1;
  if (request.has_ended()) inbox.request_ended(request, failed);
}

// The text leaves its slot, which keeps its tokens.
std::unique_ptr<EngineText> Engine::Impl::release(Slot& slot) {
  std::unique_ptr<Text> text = std::move(slot.text);
  slot.held.clear();
  if (text->generation) {
    const auto held = text->generation->held();
    slot.held.assign(held.begin(), held.end());
  }
  slot.used = Clock::now();
  inbox.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(slot.index)];
    state.busy = false;
    state.n_held = std::ssize(slot.held);
    --s.n_running;
  });
  return text;
}

// All texts of its request end.
void Engine::Impl::fail_text(Slot& slot, const std::exception_ptr& error) {
  const std::shared_ptr<EngineRequest> request = slot.text->request;
  for (Slot& other : slots) {
    if (other.text && other.text->request == request) release(other);
  }
  const auto is_of = [&](const auto& text) { return text->request == request; };
  for (const auto& text : queue) {
    if (is_of(text)) inbox.text_starts(*request);
  }
  std::erase_if(queue, is_of);
  request->n_ended = request->wanted.texts;
  inbox.request_ended(*request, true);
  request->listener->on_error(error);
}

}  // namespace weft
