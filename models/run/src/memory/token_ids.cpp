#include "memory/token_ids.h"

#include <algorithm>

namespace weft::run {
namespace {

constexpr std::int64_t kIdBytes = sizeof(std::int32_t);
// Kept texts of fewer ids of their own are copied rather than pointed to.
constexpr std::int64_t kShortText = 512;

}  // namespace

template <class F>
void TokenIds::View::for_each_piece(F f) const {
  std::int64_t end = length;
  for (const Text* t = text.get(); t && end > 0; t = t->before.get()) {
    if (end > t->n_before)
      f(t->n_before, std::span(t->own).first(static_cast<std::size_t>(end - t->n_before)));
    end = std::min(end, t->n_before);
  }
}

std::int64_t TokenIds::bytes_for(const MemoryLimits& limits, std::int64_t kept_tokens) {
  return (limits.sequences * limits.context + kept_tokens) * kIdBytes;
}

TokenIds::TokenIds(const MemoryLimits& limits, std::int64_t kept_tokens)
    : n_tokens_(limits.context),
      kept_bytes_(kept_tokens * kIdBytes),
      n_growing_(static_cast<std::int32_t>(limits.sequences)),
      ids_(bytes_for(limits)),
      kept_(static_cast<std::size_t>(limits.all())),
      lengths_(static_cast<std::size_t>(limits.sequences)) {}

std::int32_t* TokenIds::begin(std::int32_t sequence) const {
  return reinterpret_cast<std::int32_t*>(ids_.data()) + sequence * n_tokens_;
}

std::span<const std::int32_t> TokenIds::of(std::int32_t sequence) const {
  return {begin(sequence), static_cast<std::size_t>(lengths_[static_cast<std::size_t>(sequence)])};
}

std::int64_t TokenIds::common_prefix(std::int32_t sequence, std::span<const std::int32_t> ids,
                                     std::int64_t from) const {
  const auto same_in = [&](std::span<const std::int32_t> held, std::int64_t at) {
    const auto rest = ids.subspan(static_cast<std::size_t>(std::min(at, std::ssize(ids))));
    return std::ranges::mismatch(held, rest).in1 - held.begin();
  };
  if (grows(sequence)) {
    const auto held = of(sequence);
    from = std::min(from, std::ssize(held));
    return from + same_in(held.subspan(static_cast<std::size_t>(from)), from);
  }
  std::int64_t n = kept(sequence).length;
  kept(sequence).for_each_piece([&](std::int64_t at, std::span<const std::int32_t> piece) {
    const std::int64_t end = at + std::ssize(piece), first = std::max(at, from);
    if (end <= from) return;
    const std::int64_t same = same_in(piece.subspan(static_cast<std::size_t>(first - at)), first);
    if (first + same < end) n = first + same;
  });
  return n;
}

std::vector<std::int32_t> TokenIds::copy_of(std::int32_t sequence, std::int64_t from,
                                            std::int64_t n) const {
  const std::int64_t length = grows(sequence) ? std::ssize(of(sequence)) : kept(sequence).length;
  from = std::min(from, length);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(n, length - from)));
  const auto copy = [&](std::int64_t at, std::span<const std::int32_t> piece) {
    const std::int64_t first = std::max(at, from);
    const std::int64_t end = std::min(at + std::ssize(piece), from + std::ssize(ids));
    for (std::int64_t i = first; i < end; ++i)
      ids[static_cast<std::size_t>(i - from)] = piece[static_cast<std::size_t>(i - at)];
  };
  grows(sequence) ? copy(0, of(sequence)) : kept(sequence).for_each_piece(copy);
  return ids;
}

void TokenIds::set(std::int32_t sequence, std::span<const std::int32_t> ids) {
  if (!grows(sequence)) {
    kept(sequence) = {std::make_shared<Text>(Text{.own = {ids.begin(), ids.end()}}),
                      std::ssize(ids)};
    return;
  }
  std::ranges::copy(ids, begin(sequence));
  lengths_[static_cast<std::size_t>(sequence)] = std::ssize(ids);
  kept(sequence) = {};
}

void TokenIds::appended(std::span<const StepToken> tokens) {
  for (const StepToken& t : tokens)
    begin(t.sequence)[lengths_[static_cast<std::size_t>(t.sequence)]++] = t.token;
}

void TokenIds::truncate(std::int32_t sequence, std::int64_t to) {
  View& view = kept(sequence);
  view.length = std::min(view.length, to);
  if (view.length == 0) view.text.reset();
  if (grows(sequence)) lengths_[static_cast<std::size_t>(sequence)] = to;
}

void TokenIds::drop(std::int32_t sequence, const Dropping& dropping) {
  std::int32_t* const ids = begin(sequence);
  std::int32_t* to = ids;
  for (const auto& [first, end] : dropping.kept) to = std::copy(ids + first, ids + end, to);
  truncate(sequence, dropping.same);  // kept texts have no more of it
  lengths_[static_cast<std::size_t>(sequence)] = dropping.length;
}

// The first tokens of a sequence that grows as a kept text: only those that no kept text has are
// copied.
TokenIds::View TokenIds::keep(std::int32_t sequence, std::int64_t length) {
  View& known = kept(sequence);
  if (length > known.length) {
    const Text* const last = known.text.get();
    const bool is_short = last && known.length - last->n_before < kShortText;
    const std::int64_t n_before = is_short ? std::min(last->n_before, known.length) : known.length;
    const auto own = of(sequence).subspan(static_cast<std::size_t>(n_before),
                                          static_cast<std::size_t>(length - n_before));
    std::shared_ptr<const Text> before = is_short ? last->before : known.text;
    while (before && before->n_before >= n_before) before = before->before;
    known = {std::make_shared<Text>(Text{std::move(before), n_before, {own.begin(), own.end()}}),
             length};
  }
  return {known.text, length};
}

void TokenIds::copy(std::int32_t from, std::int32_t to, std::int64_t n) {
  View view = kept(from);
  if (grows(from) && !grows(to)) view = keep(from, n);
  view.length = std::min(view.length, n);
  if (grows(to)) {
    if (grows(from))
      std::copy_n(begin(from), n, begin(to));
    else
      view.for_each_piece([&](std::int64_t at, std::span<const std::int32_t> piece) {
        std::ranges::copy(piece, begin(to) + at);
      });
    lengths_[static_cast<std::size_t>(to)] = n;
  }
  kept(to) = view.length > 0 ? std::move(view) : View();
}

void TokenIds::restore(std::int32_t sequence, std::int64_t n,
                       std::span<const std::int32_t> saved_tokens,
                       std::span<const SavedState> /*states*/) {
  set(sequence, saved_tokens.first(static_cast<std::size_t>(n)));
}

void TokenIds::fill_with_noise(std::int32_t sequence, std::int64_t n) {
  const std::vector<std::int32_t> noise(static_cast<std::size_t>(n), -1);
  set(sequence, noise);
}

}  // namespace weft::run
