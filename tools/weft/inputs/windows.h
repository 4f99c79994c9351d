#pragma once
// A text as windows of equal length, which a model reads each on its own.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/run/model.h"
#include "weft/run/session.h"

namespace weft::tools {

struct Windows {
  std::vector<std::int32_t> tokens;  // whole windows
  std::int64_t size = 0;             // tokens of one
  std::int32_t bos = -1;             // replaces every window's first token; -1: nothing

  std::int64_t count() const { return std::ssize(tokens) / size; }
  std::span<const std::int32_t> at(std::int64_t i) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(i * size),
                                     static_cast<std::size_t>(size));
  }
};

// The first token that the vocabulary puts before a text (Vocabulary::opening()), or -1.
std::int32_t bos_of(const Model& model);

// The text of a file, without windows before `first` and at most `max` windows; 0: all. An
// incomplete window at the end is not used. Throws ValueError if there are fewer than `first`, or
// none.
Windows read_windows(const Model& model, const std::string& path, std::int64_t size,
                     std::int64_t first, std::int64_t max);

// Feeds tokens of a window to an empty sequence 0. No step requests more rows of logits than the
// session gives. `wants(position)`: whether to compute logits there; these positions have no gaps.
// `take(position, rows)` gets the rows of a step, from the position of the first one on. The
// observer may be null.
template <class Wants, class Take>
void run_window(Session& session, std::span<const std::int32_t> tokens, std::int32_t bos,
                const std::atomic<bool>* cancel, NodeObserver* observer, Wants wants, Take take) {
  session.truncate(0, 0);
  const auto width = static_cast<std::size_t>(session.options().prefill_width);
  const auto max_rows = session.options().logits_rows;
  std::vector<StepToken> step;
  for (std::size_t begin = 0; begin < tokens.size(); begin += step.size()) {
    step.clear();
    std::int64_t n_rows = 0;
    std::size_t first = 0;  // token of the step with logits
    for (std::size_t i = begin; i < tokens.size() && step.size() < width; ++i) {
      const bool wanted = wants(i);
      if (wanted && n_rows == max_rows) break;
      if (wanted && n_rows++ == 0) first = step.size();
      step.push_back({.token = i == 0 && bos >= 0 ? bos : tokens[i], .logits = wanted});
    }
    const std::span<const float> rows = session.step(step, cancel, observer);
    if (n_rows > 0) take(begin + first, rows);
  }
}

// `max` rows, or fewer if the vocabulary is so large that they would take more than
// 64 MiB.
std::int64_t rows_that_fit(const Model& model, std::int64_t max);

}  // namespace weft::tools
