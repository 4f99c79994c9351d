#pragma once
// The scales of LoRAs by sequence (Session::set_lora_scales).

#include <span>
#include <string>
#include <vector>

#include "memory/per_sequence.h"

namespace weft::run {

class LoraScales final : public PerSequence {
 public:
  // `scales`: those that a new sequence has, one for each LoRA.
  LoraScales(std::vector<float> scales, std::int64_t n_sequences)
      : scales_(std::move(scales)),
        of_sequences_(static_cast<std::size_t>(n_sequences), Scales{scales_}) {}

  std::span<const float> of(std::int32_t sequence) const { return at(sequence).now; }
  bool are_mixed(std::int32_t sequence) const { return at(sequence).mixed; }
  // `is_empty`: the sequence has no tokens. REQUIRES: as many scales as there are LoRAs.
  void set(std::int32_t sequence, std::span<const float> scales, bool is_empty);

  void truncate(std::int32_t sequence, std::int64_t length) override {
    if (length == 0) at(sequence).mixed = false;
  }
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void clear(std::int32_t sequence) override { set(sequence, scales_, true); }
  std::string why_not_saved(std::int32_t sequence) const override;

 private:
  struct Scales {
    std::vector<float> now;  // by LoRA
    bool mixed = false;      // Session::mixes_lora_scales()
  };
  Scales& at(std::int32_t s) { return of_sequences_[static_cast<std::size_t>(s)]; }
  const Scales& at(std::int32_t s) const { return of_sequences_[static_cast<std::size_t>(s)]; }

  const std::vector<float> scales_;
  std::vector<Scales> of_sequences_;
};

}  // namespace weft::run
