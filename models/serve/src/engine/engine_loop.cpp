// The engine's thread: requests become texts in the queue, texts get slots, steps compute them.
#include <algorithm>
#include <utility>

#include "engine/engine_impl.h"

namespace weft {

using namespace serve;

void Engine::Impl::loop() {
  while (turn(false)) {
  }
  for (; !tasks.empty(); tasks.pop_front()) tasks.front().run();
}

// `nested`: between the steps of a task. Returns false if the engine stops.
bool Engine::Impl::turn(bool nested) {
  bool continues = true;
  try {
    continues = inbox.receive(nested || is_busy() || !tasks.empty(), arrived, tasks);
    for (const auto& request : arrived) enqueue(request);
    arrived.clear();
    run_tasks(nested);
    end_cancelled();
    if (!continues) return false;
    start_texts();
    step();
  } catch (...) {  // lack of memory: what the sequences hold may differ from what is noted
    fail_all(std::current_exception());
  }
  return continues;
}

// Everything that runs or waits ends, and the sequences are emptied, so that the engine can go on.
void Engine::Impl::fail_all(const std::exception_ptr& error) {
  arrived.clear();
  for (Slot& slot : slots) slot.text.reset();
  queue.clear();
  store.clear_all();
  for (const auto& [id, request] : inbox.fail_all())
    notify(*request, [&](TextListener& l) { l.on_error(error); });
}

void Engine::Impl::run_tasks(bool nested) {
  const auto has_steps = [](const EngineInbox::Task& task) { return task.has_steps; };
  for (;;) {
    auto next = std::ranges::find_if_not(tasks, has_steps);
    if (next == tasks.end() && !nested) next = tasks.begin();
    if (next == tasks.end()) return;
    const EngineInbox::Task task = std::move(*next);
    tasks.erase(next);
    task.run();
    if (task.has_steps) return;
  }
}

bool Engine::Impl::is_busy() const {
  return !queue.empty() || n_running() > 0;
}

std::size_t Engine::Impl::n_running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots, [](const Slot& slot) { return slot.text != nullptr; }));
}

void Engine::Impl::end_cancelled() {
  for (Slot& slot : slots) {
    if (slot.text && slot.text->is_cancelled()) end_text(slot, slot.text->generation->next());
  }
  std::vector<TextPtr> ended;
  for (TextPtr& text : queue) {
    if (text->is_cancelled()) ended.push_back(std::move(text));
  }
  std::erase(queue, nullptr);
  for (const TextPtr& text : ended) end_waiting(*text);
}

void Engine::Impl::end_waiting(Text& text) {
  inbox.text_dropped(*text.request);
  GenerationEvent event{.stop = StopReason::cancelled};
  if (text.generation) event = text.generation->next();
  end_listening(text, event, "");
}

void Engine::Impl::end_text(Slot& slot, const GenerationEvent& event) {
  const TextPtr text = leave(slot);
  end_listening(*text, event, text->generation->stop_string());
}

// The last event of a text, which has left its slot or the queue: whoever hears of it may already
// count on what that released.
void Engine::Impl::end_listening(Text& text, const GenerationEvent& event,
                                 std::string_view stop_string) {
  EngineRequest& request = *text.request;
  const std::chrono::duration<double> seconds = text.last_token - text.first_token;
  const std::int64_t n_new = text.generation ? text.generation->n_new() : 0;
  const TextEnd end{event.stop, std::string(stop_string), n_new, seconds.count()};
  if (++request.n_ended == request.wanted.texts) inbox.request_ended(request, false);
  notify(request, [&](TextListener& l) { l.on_end(text.index, event, end); });
}

// The text leaves its slot, which keeps its tokens. `returns`: the text goes back to the queue.
Engine::Impl::TextPtr Engine::Impl::leave(Slot& slot, bool returns) {
  store.detach(slot.index);
  TextPtr text = std::move(slot.text);
  inbox.text_leaves(slot.index, returns);
  return text;
}

// All texts of the request end.
void Engine::Impl::fail_request(std::shared_ptr<EngineRequest> request,
                                const std::exception_ptr& error) {
  for (Slot& slot : slots) {
    if (slot.text && slot.text->request == request) leave(slot);
  }
  const auto n_waiting =
      std::erase_if(queue, [&](const TextPtr& text) { return text->request == request; });
  for (std::size_t i = 0; i < n_waiting; ++i) inbox.text_dropped(*request);
  request->n_ended = request->wanted.texts;
  inbox.request_ended(*request, true);
  notify(*request, [&](TextListener& l) { l.on_error(error); });
}

}  // namespace weft
