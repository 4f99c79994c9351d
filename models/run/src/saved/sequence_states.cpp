#include "saved/sequence_states.h"

#include <utility>

#include "weft/base/error.h"
#include "weft/run/modes.h"

#include "session/session_impl.h"

namespace weft::run {
namespace {

const auto& parties_of(const Session& session) {
  return SessionAccess::impl(session).parties;
}

// Calls f(party, its states) for each party, in order. REQUIRES: as many states as all have.
template <class F>
void for_each_party(const Session& session, std::span<const SavedState> states, F f) {
  std::size_t at = 0;
  for (const auto& party : parties_of(session)) {
    f(*party, states.subspan(at, party->n_states()));
    at += party->n_states();
  }
}

// The party that owns this state, and the state's index within that party.
std::pair<const PerSequence*, std::size_t> owner_of(const Session& session, std::size_t state) {
  for (const auto& party : parties_of(session)) {
    if (state < party->n_states()) return {party.get(), state};
    state -= party->n_states();
  }
  fail<ValueError>("no such state of a sequence");
}

}  // namespace

std::size_t n_states(const Session& session) {
  std::size_t n = 0;
  for (const auto& party : parties_of(session)) n += party->n_states();
  return n;
}

SavedShape saved_shape(const Session& session, std::int32_t sequence, std::size_t state,
                       const SavedRange& range) {
  const auto [party, own] = owner_of(session, state);
  return party->saved_shape(sequence, own, range);
}

void save_state(const Session& session, std::int32_t sequence, std::size_t state,
                const SavedRange& range,
                const std::function<void(std::span<const std::byte>)>& write) {
  const auto [party, own] = owner_of(session, state);
  party->save(sequence, own, range, write);
}

std::int64_t resume_point_of_saved(const Session& session, std::int64_t length,
                                   std::int64_t saved_length, std::span<const SavedState> states) {
  if (states.size() != n_states(session)) return 0;
  for_each_party(session, states, [&](const PerSequence& party, auto own) {
    length = party.resume_point_of_saved(length, saved_length, own);
  });
  return length;
}

void restore_states(Session& session, std::int32_t sequence, std::int64_t length,
                    std::span<const std::int32_t> saved_tokens,
                    std::span<const SavedState> states) {
  const auto& impl = SessionAccess::impl(session);
  impl.memory.lengths().check(sequence);
  require(session.model(), Feature::saving);
  const std::int64_t n_vocab = session.model().facts().n_vocab;
  for (const std::int32_t id : saved_tokens)
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("token {} is outside the vocabulary of {}", id, n_vocab);
  if (states.size() != n_states(session))
    fail<FormatError>("{} states were saved, the model has {}", states.size(), n_states(session));
  for_each_party(session, states, [&](const PerSequence& party, auto own) {
    party.check_saved(sequence, length, saved_tokens, own);
  });
  const std::int64_t saved_length = std::ssize(saved_tokens);
  const std::int64_t point = resume_point_of_saved(session, length, saved_length, states);
  if (point != length)
    fail<UnsupportedError>(
        "the saved state of {} tokens cannot continue from {} of them, only from {}", saved_length,
        length, point);
  for_each_party(session, states, [&](PerSequence& party, auto own) {
    party.restore(sequence, length, saved_tokens, own);
  });
}

}  // namespace weft::run
