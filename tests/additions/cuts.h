#pragma once
// What follows a sequence: the number of times that it was cut.

#include <vector>

#include "weft/base/error.h"

#include "memory/per_sequence.h"

namespace weft::run {

class Cuts final : public PerSequence {
 public:
  explicit Cuts(std::int64_t n_sequences) : cuts_(static_cast<std::size_t>(n_sequences)) {
    latest = this;
  }
  ~Cuts() override { latest = nullptr; }

  int of(std::int32_t sequence) const { return cuts_[static_cast<std::size_t>(sequence)]; }

  std::int64_t bytes() const override { return 0; }
  void appended(std::span<const StepToken> tokens) override {
    n_tokens += static_cast<int>(tokens.size());
  }
  void truncate(std::int32_t sequence, std::int64_t length) override {
    ++at(sequence);
    if (length == 0) at(sequence) = 0;
  }
  void copy(std::int32_t from, std::int32_t to, std::int64_t /*length*/) override {
    at(to) = of(from);
  }
  std::size_t n_states() const override { return 1; }
  SavedShape saved_shape(std::int32_t, std::size_t, const SavedRange&) const override {
    return {.n_bytes = sizeof(int), .lengths = {}};
  }
  void save(std::int32_t sequence, std::size_t, const SavedRange&,
            const std::function<void(std::span<const std::byte>)>& write) const override {
    const int n = of(sequence);
    write(std::as_bytes(std::span(&n, 1)));
  }
  void check_saved(std::int32_t, std::int64_t, std::span<const std::int32_t>,
                   std::span<const SavedState> states) const override {
    if (states[0].n_bytes() != sizeof(int)) fail<FormatError>("a number of cuts has 4 bytes");
  }
  void restore(std::int32_t sequence, std::int64_t, std::span<const std::int32_t>,
               std::span<const SavedState> states) override {
    at(sequence) = std::to_integer<int>(states[0].pieces[0][0]);
  }

  static inline Cuts* latest = nullptr;  // that of the session that was opened last
  int n_tokens = 0;                      // that steps had

 private:
  int& at(std::int32_t sequence) { return cuts_[static_cast<std::size_t>(sequence)]; }

  std::vector<int> cuts_;  // by sequence
};

}  // namespace weft::run
