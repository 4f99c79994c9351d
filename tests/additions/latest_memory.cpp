// A kind of memory: one row per sequence, written in place. Sequences can only be cleared.
#include "memory/memory_kinds.h"

namespace weft::run {
namespace {

class LatestMemory final : public SequenceMemory {
 public:
  LatestMemory(const arch::MemoryPart& part, const MemoryLimits& limits, StateStore store)
      : SequenceMemory(std::move(store)),
        suffix_(part.suffix),
        lengths_(static_cast<std::size_t>(limits.sequences)) {}

  std::vector<std::string> input_names() const override { return {"latest" + suffix_}; }
  bool has_room(const Growth&) const override { return true; }
  std::string room() const override { return "every sequence has its row"; }
  const Growth* reserve(std::span<const Growth>) override { return nullptr; }
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth>,
                    std::span<const InputValues> inputs) override {
    for (std::size_t i = 0; i < tokens.size(); ++i) inputs[0][i] = tokens[i].sequence;
  }
  void append(std::span<const Growth> step) override {
    for (const Growth& g : step) length(g.sequence) = g.to;
  }
  void rollback(std::span<const Growth>) override {}

  std::int64_t resume_point(std::int32_t sequence, std::int64_t wanted) const override {
    return wanted == lengths_[static_cast<std::size_t>(sequence)] ? wanted : 0;
  }
  void truncate(std::int32_t sequence, std::int64_t to) override { length(sequence) = to; }
  void copy(std::int32_t from, std::int32_t to, std::int64_t n) override {
    store().copy(from, to);
    length(to) = n;
  }

  std::vector<std::int32_t> saved_rows(std::int32_t sequence, std::int64_t) const override {
    return {sequence};
  }
  RowCount row_count(std::int64_t n) const override { return {n > 0 ? 1 : 0, 1}; }
  std::int64_t restore_point(std::int64_t n, const Saved& saved) const override {
    return n == saved.length ? n : 0;
  }
  Range needed_rows(std::int64_t n, const Saved&) const override { return {0, n > 0 ? 1 : 0}; }
  bool can_replace(std::int32_t, std::int64_t) const override { return true; }
  std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t n, std::int64_t n_rows,
                                    std::span<const std::int64_t>) override {
    length(sequence) = n;
    return std::vector<std::int32_t>(static_cast<std::size_t>(n_rows), sequence);
  }

 private:
  std::int64_t& length(std::int32_t sequence) {
    return lengths_[static_cast<std::size_t>(sequence)];
  }

  std::string suffix_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace

std::unique_ptr<SequenceMemory> make_latest_memory(const arch::MemoryPart& part,
                                                   const MemoryLimits& limits, StateStore store) {
  return std::make_unique<LatestMemory>(part, limits, std::move(store));
}

}  // namespace weft::run
