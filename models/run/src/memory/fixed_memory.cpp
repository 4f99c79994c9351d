// Cells that all sequences share: learned vectors, which every step writes again. No sequence owns
// or saves any of them.
#include <algorithm>
#include <numeric>

#include "weft/ops/attention/cache_cells.h"

#include "memory/memory_kinds.h"

namespace weft::run {
namespace {

class FixedMemory final : public SequenceMemory {
 public:
  FixedMemory(const arch::MemoryPart& part, StateStore store)
      : SequenceMemory(std::move(store)), suffix_(part.suffix), n_blocks_(part.n_rows) {}

  std::vector<std::string> input_names() const override {
    return {"table" + suffix_, "cells" + suffix_, "first" + suffix_, "last" + suffix_};
  }
  std::string room() const override { return "fixed cells need no room"; }
  const Growth* reserve(std::span<const Growth>) override { return nullptr; }
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                    std::span<const InputValues> inputs) override;
  void append(std::span<const Growth>) override {}
  void rollback(std::span<const Growth>) override {}

  std::int64_t resume_point(std::int32_t, std::int64_t length) const override { return length; }
  void truncate(std::int32_t, std::int64_t) override {}
  void copy(std::int32_t, std::int32_t, std::int64_t) override {}

  std::vector<std::int32_t> saved_rows(std::int32_t, std::int64_t) const override { return {}; }
  RowCount row_count(std::int64_t) const override { return {}; }
  std::int64_t restore_point(std::int64_t length, const Saved&) const override { return length; }
  Range needed_rows(std::int64_t, const Saved&) const override { return {}; }
  bool can_replace(std::int32_t, std::int64_t) const override { return true; }
  std::vector<std::int32_t> replace(std::int32_t, std::int64_t, std::int64_t,
                                    std::span<const std::int64_t>) override {
    return {};
  }

 private:
  const std::string suffix_;
  const std::int64_t n_blocks_;
};

void FixedMemory::write_inputs(std::span<const TokenPlace>, std::span<const Growth>,
                               std::span<const InputValues> inputs) {
  const InputValues table = inputs[0], cells = inputs[1], first = inputs[2], last = inputs[3];
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % n_blocks_);
  std::iota(cells.begin(), cells.end(), 0);
  std::ranges::fill(first, 0);
  std::ranges::fill(last, static_cast<std::int32_t>(cells.size()) - 1);
}

}  // namespace

std::unique_ptr<SequenceMemory> make_fixed_memory(const arch::MemoryPart& part, const MemoryLimits&,
                                                  StateStore store) {
  return std::make_unique<FixedMemory>(part, std::move(store));
}

}  // namespace weft::run
