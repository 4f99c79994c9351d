#include "generate/report.h"

#include <fmt/format.h>

#include "weft/base/printable.h"

namespace weft::generate {

std::string Stage::to_text(const char* name) const {
  const double speed = seconds > 0 ? static_cast<double>(fed) / seconds : 0;
  return fmt::format("{:<10}{:>6} tokens {:10.1f} tokens/s\n", name, tokens, speed);
}

std::string summary(const Stage& prompt, const Stage& generated, std::int64_t n_cached) {
  std::string text = prompt.to_text("prompt") + generated.to_text("generated");
  if (n_cached > 0)
    text += fmt::format("{:<10}{:>6} tokens of the prompt\n", "from cache", n_cached);
  return text;
}

std::string line_of(const TokenLogprobs& logprobs) {
  const auto shown = [](const TokenLogprob& t) {
    return fmt::format("\"{}\"", printable(t.bytes));
  };
  std::string line =
      fmt::format("{:<16} {:>9.4f}", shown(logprobs.chosen), logprobs.chosen.logprob);
  for (const TokenLogprob& t : logprobs.top)
    line += fmt::format("  {} {:.4f}", shown(t), t.logprob);
  return line + "\n";
}

std::string line_of(std::size_t number, const Hypothesis& found) {
  return fmt::format("beam {}: score {:.4f}, log probability {:.2f}, {} tokens{}\n", number,
                     found.score, found.logprob, found.tokens.size(), found.ended ? "" : ", cut");
}

std::string remark(std::int64_t n_dropped, ContextEnd end) {
  if (n_dropped == 0) return "";
  return fmt::format(
      "went on at the end of the context ({}): {} tokens were dropped, so the text is not exact\n",
      name_of_value(end), n_dropped);
}

std::string remark(StopReason stop) {
  if (stop == StopReason::context_full) return "stopped: the context is full\n";
  return stop == StopReason::cancelled ? "stopped: interrupted\n" : "";
}

}  // namespace weft::generate
