#include "session/encoded_text.h"

#include <algorithm>
#include <utility>

#include "weft/run/modes.h"

#include "memory/session_memory.h"

namespace weft::run {

EncodedText::EncodedText(std::unique_ptr<SessionMemory> memory, std::int64_t n_tokens)
    : memory_(std::move(memory)),
      n_tokens_(n_tokens),
      ids_({memory_->lengths().n_sequences(), n_tokens}) {}
EncodedText::~EncodedText() = default;

void EncodedText::copy(std::int32_t from, std::int32_t to, std::int64_t /*length*/) {
  const std::int64_t n = memory_->length(from);
  memory_->copy(from, to, n);
  ids_.copy(from, to, n);
}

void EncodedText::clear(std::int32_t sequence) {
  memory_->truncate(sequence, 0);
  ids_.clear(sequence);
}

std::string EncodedText::why_not_saved(std::int32_t /*sequence*/) const {
  return n_tokens_ > 0 ? std::string(why_not(Feature::saving, Mode::encoding)) : "";
}

void EncodedText::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  if (n_tokens_ == 0) return;
  const std::int64_t n = std::clamp<std::int64_t>(length, 1, n_tokens_);
  memory_->fill_with_noise(sequence, n);
  ids_.fill_with_noise(sequence, n);
}

}  // namespace weft::run
