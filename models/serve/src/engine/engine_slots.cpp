#include "engine/engine_slots.h"

#include <algorithm>
#include <utility>

#include "weft/ops/attention/cache_cells.h"
#include "weft/run/kept_texts.h"

#include "engine/engine_inbox.h"
#include "engine/engine_queue.h"
#include "engine/moved_texts.h"
#include "engine/texts_on_disk.h"
#include "generation/generation_impl.h"

namespace weft::serve {
namespace {

// A text waits for a prompt that is being computed if they have at least this many more tokens in
// common than with what is already there.
constexpr std::int64_t kMinAwaitedTokens = 64;

}  // namespace

EngineSlots::EngineSlots(Session& session, const Speculation& speculation, EngineInbox& inbox,
                         EngineQueue& queue, SequenceStore& store, const MovedTexts& moved,
                         TextsOnDisk& disk, std::int32_t n)
    : session_(session),
      speculation_(speculation),
      inbox_(inbox),
      queue_(queue),
      store_(store),
      moved_(moved),
      disk_(disk),
      slots_(static_cast<std::size_t>(n)) {
  for (std::int32_t i = 0; i < n; ++i) slots_[static_cast<std::size_t>(i)].index = i;
}

std::size_t EngineSlots::n_running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const EngineSlot& slot) { return slot.text != nullptr; }));
}

void EngineSlots::start_texts() {
  for (std::size_t i = 0; i < queue_.size() && n_running() < slots_.size();) {
    Reuse reuse;
    if (!has_idle_slot(queue_[i]) || !may_start(queue_[i], reuse)) {
      ++i;
      continue;
    }
    if (!has_room(queue_[i], reuse)) return;  // those behind it must not take the room
    TextPtr text = queue_.remove(i);
    const std::int32_t slot = store_.idle_slot_for(*text, reuse);
    start(std::move(text), slots_[static_cast<std::size_t>(slot)], std::move(reuse));
  }
}

bool EngineSlots::has_idle_slot(const EngineText& text) const {
  const std::int32_t wanted = text.request->wanted.slot;
  return std::ranges::any_of(
      slots_, [&](const EngineSlot& s) { return !s.text && (wanted < 0 || s.index == wanted); });
}

// Whether the text should not wait for a prompt that is being computed. Sets `reuse`.
bool EngineSlots::may_start(EngineText& text, Reuse& reuse) const {
  for (const EngineSlot& slot : slots_) {
    if (slot.text && text.awaits(*slot.text)) return false;
  }
  text.awaited = {};
  reuse = store_.find_reuse(text);
  for (const EngineSlot& slot : slots_) {
    if (!slot.text || !slot.text->computes_prompt() || !store_.may_share(slot.index, text))
      continue;
    const bool same_request = slot.text->request == text.request;
    std::int64_t n = n_in_common(slot.text->generation->tokens(), text);
    if (!slot.text->parts.empty() && !text.allows_moved_parts())
      n = std::min(n, slot.text->parts.front().at);  // what comes then is not exact
    if (n < reuse.n + (same_request ? 1 : kMinAwaitedTokens)) continue;
    text.awaited = {slot.text->request->id, slot.text->index, n};
    if (!text.awaits(*slot.text)) continue;
    mark(session_, slot.index, n);
    return false;
  }
  return true;
}

// Whether there is memory for the rest of the text's tokens so far, beside what running texts still
// need for theirs, and for a block more of each. What nobody uses can be evicted.
bool EngineSlots::has_room(const EngineText& text, const Reuse& reuse) const {
  if (n_running() == 0) return true;
  std::int64_t needed = std::ssize(text.tokens()) - reuse.n + 2 * kCellsPerBlock;
  for (const EngineSlot& slot : slots_)
    if (slot.text) needed += slot.text->generation->n_pending() + kCellsPerBlock;
  return needed <= store_.max_free_positions();
}

void EngineSlots::start(TextPtr text, EngineSlot& slot, Reuse reuse) {
  const std::shared_ptr<EngineRequest> request = text->request;
  const bool again = text->generation.has_value();
  inbox_.text_starts(*request, slot.index);
  if (!again) text->started = Clock::now();
  try {
    reuse = disk_.read_more(slot.index, *text, std::move(reuse));
    store_.prepare(slot.index, *text, reuse);
    if (again)
      text->generation->move_to(slot.index);
    else
      begin(*text, slot.index);
  } catch (...) {
    store_.clear(slot.index);
    inbox_.text_leaves(*request, slot.index, false);
    return fail_request(request, std::current_exception());
  }
  slot.text = std::move(text);
  slot.text->has_moved_parts = reuse.has_moved_parts;
  store_.attach(slot.index, *slot.text);
  slot.text->parts.clear();
  slot.text->n_moved = 0;
  if (!again) moved_.find(*slot.text);
  slot.text->why_not_reused = reuse.why_not;
  if (slot.text->allows_moved_parts() && !moved_.why_not().empty() && !reuse.why_not.empty())
    slot.text->why_not_reused +=
        fmt::format("; no parts are taken from other positions: {}", moved_.why_not());
  slot.text->n_same = reuse.n_same;
  slot.text->held_instead = reuse.held_instead;
  if (request->prepares) return;  // slots show what was asked for
  inbox_.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(slot.index)];
    const Generation& g = *slot.text->generation;
    state = {slot.index,   true,      request->id,   std::ssize(g.held()),
             g.n_prompt(), g.n_new(), reuse.why_not, request->wanted.owner};
    if (again || slot.text->index > 0) return;
    s.counters.prompt_tokens_reused += g.n_reused();
    ++(g.n_reused() > 0 ? s.counters.prompts_continued : s.counters.prompts_from_start);
  });
}

// Makes the generation of a text that was in no slot before.
void EngineSlots::begin(EngineText& text, std::int32_t slot) {
  const TextRequest& wanted = text.request->wanted;
  GenerationOptions o = wanted.generation;
  o.sampler.seed += static_cast<std::uint64_t>(text.index);
  o.prompt_logprobs = wanted.prompt_logprobs && text.index == 0;
  // What the text may not share with others, its look-ups do not share, either.
  o.draft = text.draft =
      wanted.reuse ? speculation_.draft(wanted.owner) : speculation_.draft(std::nullopt);
  o.max_guesses = speculation_.max_guesses();
  Generation g = Generation::Impl::with_rules(session_, slot, o, text.request->rules);
  g.begin(wanted.prompt);
  text.generation.emplace(std::move(g));
  text.n_reused = text.generation->n_reused();
}

void EngineSlots::count_drafts() {
  const SpeculationCounters drafts = speculation_.counters();
  inbox_.update_state([&](EngineState& s) {
    s.counters.drafted = static_cast<std::uint64_t>(drafts.n_drafted);
    s.counters.drafted_right = static_cast<std::uint64_t>(drafts.n_right);
    s.counters.drafting_seconds = drafts.seconds;
    s.counters.seconds_without_drafts = drafts.seconds_without;
  });
}

// The text leaves its slot, which keeps its tokens. `returns`: the text goes back to the queue.
EngineSlots::TextPtr EngineSlots::leave(EngineSlot& slot, bool returns) {
  // Later, its guesses might be taken for tokens of another text in that sequence.
  if (slot.text->generation) drop_guesses(*slot.text->generation);
  if (slot.text->draft) count_drafts();  // those of its last step
  store_.detach(slot.index);
  slot.text->has_dropped = false;  // if it returns, what is left of it is computed again
  disk_.text_ended(slot.index);
  TextPtr text = std::move(slot.text);
  inbox_.text_leaves(*text->request, slot.index, returns);
  return text;
}

void EngineSlots::preempt_youngest() {
  EngineSlot* last = nullptr;
  for (EngineSlot& slot : slots_)
    if (slot.text && (!last || EngineQueue::is_before(*last->text, *slot.text))) last = &slot;
  TextPtr text = leave(*last, true);
  store_.clear(last->index);
  queue_.insert(std::move(text));
}

void EngineSlots::end_cancelled() {
  for (EngineSlot& slot : slots_) {
    if (slot.text && slot.text->is_cancelled()) end_text(slot, slot.text->generation->next());
  }
  for (const TextPtr& text : queue_.remove_cancelled()) end_waiting(*text);
}

void EngineSlots::end_waiting(EngineText& text) {
  inbox_.text_dropped(*text.request);
  GenerationEvent event{.stop = StopReason::cancelled};
  if (text.generation) event = text.generation->next();
  report_end(text, event, "");
}

void EngineSlots::end_text(EngineSlot& slot, const GenerationEvent& event) {
  const TextPtr text = leave(slot);
  report_end(*text, event, text->generation->stop_string());
}

// Reports the last event of a text, which has left its slot or the queue: the listener may already
// rely on what that released.
void EngineSlots::report_end(EngineText& text, const GenerationEvent& event,
                             std::string_view stop_string) {
  EngineRequest& request = *text.request;
  const std::chrono::duration<double> seconds = text.last_token - text.first_token;
  const std::int64_t n_new = text.generation ? text.generation->n_new() : 0;
  const TextEnd end{.reason = event.stop,
                    .stop_string = std::string(stop_string),
                    .n_new = n_new,
                    .seconds = seconds.count(),
                    .n_drafted = text.draft ? text.draft->n_checked : 0,
                    .n_right = text.draft ? text.draft->n_right : 0,
                    .n_dropped = text.generation ? n_dropped(*text.generation) : 0};
  if (++request.n_ended == request.wanted.texts) inbox_.request_ended(request, false);
  notify(request, [&](TextListener& l) { l.on_end(text.index, event, end); });
}

// Its texts, which are released here, may be what else keeps the request.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void EngineSlots::fail_request(std::shared_ptr<EngineRequest> request,
                               const std::exception_ptr& error) {
  for (EngineSlot& slot : slots_) {
    if (slot.text && slot.text->request == request) leave(slot);
  }
  const std::size_t n_waiting = queue_.drop_texts_of(*request);
  for (std::size_t i = 0; i < n_waiting; ++i) inbox_.text_dropped(*request);
  request->n_ended = request->wanted.texts;
  inbox_.request_ended(*request, true);
  notify(*request, [&](TextListener& l) { l.on_error(error); });
}

void EngineSlots::fail_all(const std::exception_ptr& error) {
  for (EngineSlot& slot : slots_) slot.text.reset();
  queue_.clear();
  store_.clear_all();
  for (const auto& [id, request] : inbox_.fail_all())
    notify(*request, [&](TextListener& l) { l.on_error(error); });
}

}  // namespace weft::serve
