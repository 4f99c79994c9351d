#include "session/draft_state.h"

#include <algorithm>

#include "memory/session_memory.h"
#include "plan/session_plan.h"

namespace weft::run {

DraftState::DraftState(SessionMemory& layer, std::int64_t D, const SessionOptions& options)
    : memory(layer), width(static_cast<std::size_t>(D)) {
  if (!options.draft_layer) return;
  const auto n_growing = static_cast<std::size_t>(options.sequences);
  followed.resize(n_growing + static_cast<std::size_t>(options.kept));
  for (Followed& f : std::span(followed).first(n_growing)) {
    f.rows.resize(width * (kDraftWidth + 1));
    f.tokens.reserve(kDraftWidth + 1);
  }
  staged.reserve(static_cast<std::size_t>(options.prefill_width));
  staged_rows.resize(width * static_cast<std::size_t>(options.prefill_width));
  chained.resize(width);
  step.reserve(kDraftWidth);
}

std::int64_t DraftState::bytes() const {
  std::size_t n = staged_rows.size() + chained.size();
  for (const Followed& f : followed) n += f.rows.size();
  return static_cast<std::int64_t>(n * sizeof(float));
}

void DraftState::stage(const Staged& token, std::span<const float> features) {
  std::ranges::copy(features, staged_rows.begin() + std::ssize(staged) * std::ssize(features));
  staged.push_back(token);
}

bool DraftState::add(std::int32_t token, std::int32_t sequence, std::int64_t position,
                     std::span<const float> features) {
  Followed& f = of(sequence);
  if (position != f.length) f.n_rows = 0;  // it was restored, say: no features of the token before
  if (f.n_rows == 1 && f.guess == token) {
    f.n_rows = 0;  // already read together
  } else {
    f.n_true -= f.n_rows > 0 && f.guess;
  }
  f.guess.reset();
  if (f.n_rows == 0) f.tokens.clear();
  if (f.n_rows > 0) f.tokens.push_back(token);
  std::ranges::copy(features, f.rows.begin() + f.n_rows * std::ssize(features));
  ++f.n_rows;
  f.length = position + 1;
  return f.n_rows > kDraftWidth;
}

void DraftState::drop_rows(Followed& f, std::int64_t n) {
  std::copy(f.rows.begin() + n * std::int64_t(width),
            f.rows.begin() + f.n_rows * std::int64_t(width), f.rows.begin());
  f.n_rows -= n;
  f.tokens.erase(f.tokens.begin(), f.tokens.begin() + std::min(n, std::ssize(f.tokens)));
}

void DraftState::forget(std::int32_t sequence) {
  if (followed.empty()) return;
  Followed& f = of(sequence);
  f.length = f.n_rows = f.n_true = 0;
  f.tokens.clear();
  f.guess.reset();
  memory.truncate(sequence, 0);
  for (Staged& s : staged)
    if (s.sequence == sequence) s.sequence = -1;
}

// If the features of the new last token were read, the layer goes on without that pair.
void DraftState::truncate(std::int32_t sequence, std::int64_t length) {
  if (followed.empty()) return;
  if (length == 0) return forget(sequence);
  for (Staged& s : staged)
    if (s.sequence == sequence && s.position >= length) s.sequence = -1;
  Followed& f = of(sequence);
  if (length >= f.length) return;
  const std::int64_t first = f.length - f.n_rows, n = length - first;
  f.length = length;
  f.n_rows = std::max<std::int64_t>(n, 0);
  f.tokens.resize(static_cast<std::size_t>(std::max<std::int64_t>(n - 1, 0)));
  if (n > 0) return;
  f.n_true -= 1 - n + (f.guess ? 1 : 0);
  f.n_true = std::max<std::int64_t>(f.n_true, 0);
  f.guess.reset();
}

void DraftState::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  if (followed.empty()) return;
  forget(to);
  const Followed& f = of(from);
  memory.copy(from, to, memory.resume_point(from, std::min(f.n_true, memory.length(from))));
  Followed& t = of(to);
  if (f.rows.empty() || t.rows.empty()) {  // a kept sequence has no features
    t.length = f.length - (t.rows.empty() ? 0 : f.n_rows);
    t.n_true = memory.length(to);
    return truncate(to, length);
  }
  t = f;
  t.n_true = memory.length(to);
  truncate(to, length);
}

}  // namespace weft::run
