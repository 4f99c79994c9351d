#include "whole_texts.h"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "capture.h"
#include "sanity.h"

namespace weft::checks {
namespace {

void require_same(std::span<const float> got, std::span<const float> want,
                  const std::string& what) {
  if (got.size() == want.size() && std::memcmp(got.data(), want.data(), got.size_bytes()) == 0)
    return;
  throw Failed{fmt::format("{}: other bits than alone in a new session", what)};
}

std::vector<float> whole(Session& session, std::int32_t sequence,
                         std::span<const std::int32_t> tokens) {
  session.truncate(sequence, 0);
  const std::size_t n = tokens.size();
  return all_logits(session, sequence, tokens, {&n, 1});
}

}  // namespace

std::vector<float> WholeTexts::alone(const SessionOptions& options) const {
  Session session(model_, options);
  return whole(session, 0, tokens_);
}

// After a longer text, whose cells must not be read.
std::string WholeTexts::repeated() const {
  const auto part = std::span(tokens_).first(tokens_.size() / 2 + 1);
  Session first(model_, options_);
  const std::vector<float> want = whole(first, 0, part);
  whole(first, 0, tokens_);
  require_same(whole(first, 0, part), want, "after a longer text");
  return fmt::format("{} tokens before and after {}, same bits", part.size(), tokens_.size());
}

// Two texts of different lengths in one step, their tokens in turns.
std::string WholeTexts::batched() const {
  SessionOptions o = options_;
  o.sequences = 2;
  o.prefill_width = o.logits_rows = 2 * std::ssize(tokens_);
  Session session(model_, o);
  const std::size_t n = tokens_.size(), n_other = n / 2 + 1, width = model_->facts().n_vocab;
  std::vector<StepToken> step;
  for (std::size_t i = 0; i < n; ++i) {
    if (i < n_other) step.push_back({.token = tokens_[n - 1 - i], .sequence = 1, .logits = true});
    step.push_back({.token = tokens_[i], .sequence = 0, .logits = true});
  }
  const auto rows = session.step(step);
  std::vector<float> got;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto row = rows.subspan(i * width, width);
    if (step[i].sequence == 0) got.insert(got.end(), row.begin(), row.end());
  }
  require_same(got, alone(options_), "batch of two texts");
  return fmt::format("{} and {} tokens in one step, same bits as alone", n, n_other);
}

std::string WholeTexts::workers() const {
  SessionOptions o = options_;
  o.workers = 1;
  const std::vector<float> want = alone(o);
  for (const int n : {2, 3}) {
    o.workers = n;
    require_same(alone(o), want, fmt::format("{} workers", n));
  }
  return "1, 2 and 3 workers, same bits";
}

std::vector<std::pair<std::string, std::function<std::string()>>> WholeTexts::checks() const {
  return {{"repeated = fresh", [this] { return repeated(); }},
          {"batched = alone", [this] { return batched(); }},
          {"workers", [this] { return workers(); }}};
}

}  // namespace weft::checks
