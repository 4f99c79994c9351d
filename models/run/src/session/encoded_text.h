#pragma once
// The texts that the encoder of a model has read, by sequence: what it left of them, and their ids.
// Empty in sessions of other models.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "memory/per_sequence.h"
#include "memory/token_ids.h"

namespace weft::run {

class SessionMemory;

class EncodedText final : public PerSequence {
 public:
  // Texts have at most `n_tokens` tokens, 0 if the model has no encoder.
  EncodedText(std::unique_ptr<SessionMemory> memory, std::int64_t n_tokens);
  ~EncodedText() override;

  SessionMemory& memory() { return *memory_; }
  // The text of a sequence; empty: it has none.
  std::span<const std::int32_t> of(std::int32_t sequence) const { return ids_.of(sequence); }
  // `memory` has what the encoder left of this text.
  void set(std::int32_t sequence, std::span<const std::int32_t> text) { ids_.set(sequence, text); }

  std::int64_t bytes() const override { return ids_.bytes(); }
  // The text belongs to no token: truncate() keeps it, copy() copies it.
  void truncate(std::int32_t /*sequence*/, std::int64_t /*length*/) override {}
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void clear(std::int32_t sequence) override;
  std::string why_not_saved(std::int32_t sequence) const override;
  void fill_with_noise(std::int32_t sequence, std::int64_t length) override;

 private:
  const std::unique_ptr<SessionMemory> memory_;
  const std::int64_t n_tokens_;  // the longest text; 0: the model has no encoder
  TokenIds ids_;
};

}  // namespace weft::run
