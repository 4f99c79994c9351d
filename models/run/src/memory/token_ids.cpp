#include "memory/token_ids.h"

#include <algorithm>

namespace weft::run {
namespace {

constexpr std::int64_t kIdBytes = sizeof(std::int32_t);

}  // namespace

std::int64_t TokenIds::bytes_for(std::int64_t n_sequences, std::int64_t n_tokens) {
  return n_sequences * n_tokens * kIdBytes;
}

TokenIds::TokenIds(std::int64_t n_sequences, std::int64_t n_tokens)
    : n_tokens_(n_tokens),
      ids_(bytes_for(n_sequences, n_tokens)),
      lengths_(static_cast<std::size_t>(n_sequences)) {}

std::int32_t* TokenIds::begin(std::int32_t sequence) const {
  return reinterpret_cast<std::int32_t*>(ids_.data()) + sequence * n_tokens_;
}

std::span<const std::int32_t> TokenIds::of(std::int32_t sequence) const {
  return {begin(sequence), static_cast<std::size_t>(length(sequence))};
}

void TokenIds::set(std::int32_t sequence, std::span<const std::int32_t> ids) {
  std::ranges::copy(ids, begin(sequence));
  length(sequence) = std::ssize(ids);
}

void TokenIds::appended(std::span<const StepToken> tokens) {
  for (const StepToken& t : tokens) begin(t.sequence)[length(t.sequence)++] = t.token;
}

void TokenIds::truncate(std::int32_t sequence, std::int64_t to) {
  length(sequence) = to;
}

void TokenIds::copy(std::int32_t from, std::int32_t to, std::int64_t n) {
  std::copy_n(begin(from), n, begin(to));
  length(to) = n;
}

void TokenIds::restore(std::int32_t sequence, std::int64_t n,
                       std::span<const std::int32_t> saved_tokens,
                       std::span<const SavedState> /*states*/) {
  set(sequence, saved_tokens.first(static_cast<std::size_t>(n)));
}

void TokenIds::fill_with_noise(std::int32_t sequence, std::int64_t n) {
  std::fill_n(begin(sequence), n, -1);
  length(sequence) = n;
}

}  // namespace weft::run
