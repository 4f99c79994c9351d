// The queue of an engine and its slots: which text starts next, where, and which one has to go.
#include <algorithm>
#include <utility>

#include "weft/ops/attention/cache_cells.h"

#include "engine/engine_impl.h"
#include "generation/generation_impl.h"

namespace weft {

using namespace serve;

namespace {

// A text waits for a prompt that is being computed if they have so many more tokens in common than
// with what is there.
constexpr std::int64_t kWorthWaiting = 64;

// Higher priorities first, then older requests; the texts of a request in order.
bool is_before(const EngineText& a, const EngineText& b) {
  const EngineRequest &x = *a.request, &y = *b.request;
  if (x.wanted.priority != y.wanted.priority) return x.wanted.priority > y.wanted.priority;
  return std::pair(x.id, a.index) < std::pair(y.id, b.index);
}

}  // namespace

void Engine::Impl::enqueue(const std::shared_ptr<EngineRequest>& request) {
  for (std::int32_t i = 0; i < request->wanted.texts; ++i) {
    auto text = std::make_unique<Text>();
    text->request = request;
    text->index = i;
    insert(std::move(text));
  }
}

void Engine::Impl::insert(TextPtr text) {
  const auto at =
      std::ranges::find_if(queue, [&](const TextPtr& t) { return is_before(*text, *t); });
  queue.insert(at, std::move(text));
}

void Engine::Impl::start_texts() {
  for (std::size_t i = 0; i < queue.size() && n_running() < slots.size();) {
    Reuse reuse;
    if (!has_idle_slot(*queue[i]) || !may_start(*queue[i], reuse)) {
      ++i;
      continue;
    }
    if (!has_room(*queue[i], reuse)) return;  // those behind it must not take the room
    TextPtr text = std::move(queue[i]);
    queue.erase(queue.begin() + std::ptrdiff_t(i));
    const std::int32_t to = store.idle_slot_for(*text, reuse);
    Slot& slot = slots[static_cast<std::size_t>(to)];
    start(std::move(text), slot, reuse);
  }
}

bool Engine::Impl::has_idle_slot(const Text& text) const {
  const std::int32_t wanted = text.request->wanted.slot;
  return std::ranges::any_of(
      slots, [&](const Slot& s) { return !s.text && (wanted < 0 || s.index == wanted); });
}

// Whether the text should not wait for a prompt that is being computed. Sets `reuse`.
bool Engine::Impl::may_start(Text& text, Reuse& reuse) {
  for (const Slot& slot : slots) {
    if (slot.text && text.awaits(*slot.text)) return false;
  }
  text.awaited = {};
  reuse = store.find_reuse(text);
  for (const Slot& slot : slots) {
    if (!slot.text || !slot.text->computes_prompt() || !store.may_share(slot.index, text)) continue;
    const bool of_same_request = slot.text->request == text.request;
    const std::int64_t n = n_in_common(slot.text->generation->tokens(), text);
    if (n < reuse.n + (of_same_request ? 1 : kWorthWaiting)) continue;
    text.awaited = {slot.text->request->id, slot.text->index, n};
    if (text.awaits(*slot.text)) return false;
  }
  return true;
}

// Whether there is memory for the rest of the text's tokens so far, beside what running texts still
// need for theirs, and for a block more of each. What nobody uses can be evicted.
bool Engine::Impl::has_room(const Text& text, const Reuse& reuse) const {
  if (n_running() == 0) return true;
  std::int64_t needed = std::ssize(text.tokens()) - reuse.n + 2 * kCellsPerBlock;
  for (const Slot& slot : slots)
    if (slot.text) needed += slot.text->generation->n_pending() + kCellsPerBlock;
  return needed <= store.max_free_positions();
}

void Engine::Impl::start(TextPtr text, Slot& slot, const Reuse& reuse) {
  const std::shared_ptr<EngineRequest> request = text->request;
  const bool again = text->generation.has_value();
  inbox.text_starts(*request, slot.index);
  if (!again) text->started = Clock::now();
  try {
    store.prepare(slot.index, reuse);
    if (again)
      text->generation->move_to(slot.index, store.tokens(slot.index));
    else
      begin(*text, slot);
  } catch (...) {
    store.clear(slot.index);
    inbox.text_leaves(slot.index, false);
    return fail_request(request, std::current_exception());
  }
  slot.text = std::move(text);
  store.attach(slot.index, *slot.text);
  slot.text->why_not_reused = reuse.why_not;
  inbox.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(slot.index)];
    const Generation& g = *slot.text->generation;
    state = {slot.index,   true,      request->id,  std::ssize(g.held()),
             g.n_prompt(), g.n_new(), reuse.why_not};
    if (!again && slot.text->index == 0) s.counters.prompt_tokens_reused += g.n_reused();
  });
}

// A text that was in no slot before.
void Engine::Impl::begin(Text& text, Slot& slot) {
  const TextRequest& wanted = text.request->wanted;
  GenerationOptions o = wanted.generation;
  o.sampler.seed += static_cast<std::uint64_t>(text.index);
  o.prompt_logprobs = wanted.prompt_logprobs && text.index == 0;
  Generation g = Generation::Impl::with_rules(session, slot.index, o, text.request->rules);
  const auto tokens = store.tokens(slot.index);
  // Other scales of LoRAs have emptied the sequence.
  if (std::ssize(tokens) == session.length(slot.index)) g.adopt({tokens.begin(), tokens.end()});
  g.begin(wanted.prompt);
  text.generation.emplace(std::move(g));
  text.n_reused = text.generation->n_reused();
}

// There is too little memory for all running texts: the youngest one returns to the queue. It is
// computed again from its tokens, which gives the same bits.
void Engine::Impl::preempt() {
  Slot* last = nullptr;
  for (Slot& slot : slots)
    if (slot.text && (!last || is_before(*last->text, *slot.text))) last = &slot;
  TextPtr text = leave(*last, true);
  store.clear(last->index);
  insert(std::move(text));
}

}  // namespace weft
