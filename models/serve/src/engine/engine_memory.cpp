// What the sequences of an engine hold: what a new text can reuse of it, what is kept and evicted.
#include <algorithm>

#include "weft/base/error.h"

#include "engine/engine_impl.h"

namespace weft {

using namespace serve;

namespace {

bool starts_with(std::span<const TokenId> tokens, std::span<const TokenId> prefix) {
  return tokens.size() >= prefix.size() && std::ranges::equal(tokens.first(prefix.size()), prefix);
}

}  // namespace

namespace serve {

std::int64_t in_common(std::span<const TokenId> tokens, const EngineText& text) {
  const auto wanted = text.tokens();
  const auto same = std::ranges::mismatch(tokens, wanted).in2 - wanted.begin();
  return std::min<std::int64_t>(same, std::ssize(wanted) - 1);
}

}  // namespace serve

std::span<const TokenId> Engine::Impl::held_by(std::int32_t sequence) const {
  const auto i = static_cast<std::size_t>(sequence);
  if (i < slots.size() && slots[i].text) return slots[i].text->generation->held();
  return held[i].tokens;
}

bool Engine::Impl::has_scales_of(std::int32_t sequence, const Text& text) const {
  return std::ranges::equal(session.lora_scales(sequence),
                            *text.request->wanted.generation.lora_scales) &&
         !session.mixes_lora_scales(sequence);
}

// Whether the text may reuse what the sequence holds: texts of one request always share it.
bool Engine::Impl::may_share(std::int32_t sequence, const Text& text) const {
  const auto i = static_cast<std::size_t>(sequence);
  const bool of_same_request =
      i < slots.size() && slots[i].text && slots[i].text->request == text.request;
  const TextRequest& wanted = text.request->wanted;
  const bool reuse = wanted.reuse && (wanted.slot < 0 || wanted.slot == sequence);
  return (reuse || of_same_request) && has_scales_of(sequence, text);
}

Engine::Impl::Reuse Engine::Impl::find_reuse(const Text& text) const {
  Reuse best;
  const TextRequest& wanted = text.request->wanted;
  if (model->facts().encodes) return {.why_not = "the prompt is read by the model's encoder"};
  if (wanted.prompt_logprobs && text.index == 0)
    return {.why_not = "the request wants the logprobs of its prompt"};
  std::int64_t n_same = 0, n_other_scales = 0;
  for (std::int32_t s = 0; s < session.options().sequences; ++s) {
    const std::int64_t n = in_common(held_by(s), text);
    if (!has_scales_of(s, text)) n_other_scales = std::max(n_other_scales, n);
    if (!may_share(s, text)) continue;
    n_same = std::max(n_same, n);
    const std::int64_t usable = session.resume_point(s, n);
    const bool is_idle_slot = s < options.slots && !slots[static_cast<std::size_t>(s)].text;
    if (usable > best.n || (is_idle_slot && usable > 0 && usable == best.n))
      best = {.sequence = s, .n = usable};
  }
  const std::int64_t all = std::ssize(text.tokens()) - 1;
  if (best.n == all) return best;
  const std::int64_t n_held =
      std::ranges::count_if(held, [](const Held& h) { return !h.tokens.empty(); });
  if (!wanted.reuse)
    best.why_not = "the request does not reuse anything";
  else if (best.n < n_same)
    best.why_not =
        fmt::format("the memory of the model continues from token {}, not from {}", best.n, n_same);
  else if (n_other_scales > n_same)
    best.why_not = fmt::format("{} tokens are held with other scales of LoRAs", n_other_scales);
  else if (n_same == 0)
    best.why_not = n_held == 0 ? "nothing is held" : "nothing that is held begins like it";
  else
    best.why_not = fmt::format("what is held differs after token {}", n_same);
  return best;
}

// Makes the sequence of the slot hold what the text reuses. What it held is kept beside the slots.
void Engine::Impl::move_memory(Slot& slot, const Reuse& reuse) {
  Held& memory = held[static_cast<std::size_t>(slot.index)];
  const std::int64_t stays = reuse.sequence == slot.index ? reuse.n : 0;
  if (std::ssize(memory.tokens) - stays >= kWorthKeeping) keep(slot.index, reuse.sequence);
  const auto n = static_cast<std::size_t>(reuse.n);
  std::vector<TokenId> tokens;
  if (reuse.sequence >= 0) {
    const auto from = held_by(reuse.sequence).first(n);
    tokens.assign(from.begin(), from.end());
    held[static_cast<std::size_t>(reuse.sequence)].used = Clock::now();
    session.copy(reuse.sequence, slot.index, reuse.n);
  } else {
    session.truncate(slot.index, 0);
  }
  memory.tokens = std::move(tokens);
}

// Copies the sequence to one beside the slots, unless another one already holds the same.
void Engine::Impl::keep(std::int32_t sequence, std::int32_t except) {
  if (session.mixes_lora_scales(sequence)) return;
  const std::int32_t to = place_to_keep(sequence, except);
  if (to < 0) return;
  const auto tokens = held_by(sequence);
  std::vector<TokenId> copied(tokens.begin(), tokens.end());
  session.copy(sequence, to, std::ssize(tokens));
  hold(to, std::move(copied));
}

// A model with windows or recurrent states could not return to the end of the prompt after a long
// text. A copy can.
void Engine::Impl::keep_resume_point(const Slot& slot) {
  const std::int64_t n = session.length(slot.index);
  if (n >= kWorthKeeping && session.resume_point(slot.index, n / 2) != n / 2) keep(slot.index, -1);
}

// -1: there is none, or no need.
std::int32_t Engine::Impl::place_to_keep(std::int32_t sequence, std::int32_t except) const {
  const auto tokens = held_by(sequence);
  const auto scales = session.lora_scales(sequence);
  std::int32_t oldest = -1, prefix = -1;
  for (std::int32_t s = 0; s < session.options().sequences; ++s) {
    if (s == sequence) continue;
    const auto other = held_by(s);
    const bool same_scales =
        std::ranges::equal(session.lora_scales(s), scales) && !session.mixes_lora_scales(s);
    if (same_scales && starts_with(other, tokens) &&
        session.resume_point(s, std::ssize(tokens)) == std::ssize(tokens))
      return -1;
    if (s < options.slots || s == except) continue;
    if (same_scales && starts_with(tokens, other)) prefix = s;
    const auto used = [&](std::int32_t i) { return held[static_cast<std::size_t>(i)].used; };
    if (oldest < 0 || used(s) < used(oldest)) oldest = s;
  }
  return prefix >= 0 ? prefix : oldest;
}

// Empties the sequence that no text uses and that was used longest ago. Returns false if there is
// none.
bool Engine::Impl::evict() {
  Held* oldest = nullptr;
  for (Held& h : held)
    if (!h.tokens.empty() && (!oldest || h.used < oldest->used)) oldest = &h;
  if (!oldest) return false;
  const auto sequence = static_cast<std::int32_t>(oldest - held.data());
  session.truncate(sequence, 0);
  hold(sequence, {});
  return true;
}

void Engine::Impl::hold(std::int32_t sequence, std::vector<TokenId> tokens) {
  Held& memory = held[static_cast<std::size_t>(sequence)];
  memory.tokens = std::move(tokens);
  memory.used = Clock::now();
  if (sequence >= options.slots) return;
  inbox.update_state([&](EngineState& s) {
    s.slots[static_cast<std::size_t>(sequence)].n_held = std::ssize(memory.tokens);
  });
}

}  // namespace weft
