#include "generate/diffusion.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/serve/diffusion.h"
#include "weft/serve/generation.h"

#include "common/program.h"
#include "common/terminal.h"
#include "common/terminal_output.h"
#include "generate/report.h"

namespace weft::generate {
namespace {

// Throws UsageError for flags that have no meaning for texts that do not grow from left to right.
void check_flags(const Model& model, const Options& o) {
  const TextRulesOptions rules = cli::text_rules(model, o.constraint);
  const SamplerOptions& s = o.sampler;
  const std::pair<const char*, bool> given[] = {
      {"--beams", o.beams > 0},
      {"--logprobs", o.logprobs >= 0},
      {"--prompt-cache", !o.cache_path.empty()},
      {"--token-healing", o.token_healing},
      {"--ignore-eos", o.ignore_eos},
      {"--context-end", o.context_end.end != ContextEnd::stop},
      {"a grammar", rules.grammar != nullptr},
      {"stop strings", !rules.stops.empty()},
      {"banned strings", !rules.banned.empty()},
      {"--repeat-penalty", s.repeat_penalty != 1},
      {"--presence-penalty", s.presence_penalty != 0},
      {"--frequency-penalty", s.frequency_penalty != 0},
      {"--dry-multiplier", s.dry_multiplier != 0},
      {"--mirostat", s.mirostat != 0},
      {"--adaptive-target", s.adaptive_target >= 0}};
  for (const auto& [name, is_given] : given) {
    if (is_given)
      fail<cli::UsageError>(
          "{}: a diffusion model does not write from left to right, so {} cannot "
          "be used",
          model.file().path(), name);
  }
}

// The first characters of a line of UTF-8.
std::string clipped(std::string line, std::size_t n) {
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xC0) != 0x80;
    if (begins && n-- == 0) break;
  }
  return line.substr(0, at);
}

// Shows the text as it is filled in: one line that changes on a terminal; elsewhere a line per step
// if it is asked for.
class Canvas {
 public:
  explicit Canvas(bool every_step) : terminal_(isatty(STDERR_FILENO)), lines_(every_step) {}

  void show(const Diffusion& text) const {
    if (!terminal_ && !lines_) return;
    const std::string line =
        fmt::format("step {}/{}: {}", text.steps_done(), text.n_steps(), printable(text.text("_")));
    if (terminal_) cli::send_controls(std::cerr, cli::kClearLine);
    std::cerr << (terminal_ ? clipped(line, cli::terminal_columns(STDERR_FILENO) - 1) : line + "\n")
              << std::flush;
  }
  void clear() const {
    if (terminal_) cli::send_controls(std::cerr, cli::kClearLine);
  }

 private:
  const bool terminal_, lines_;
};

}  // namespace

void check_writes(const Model& model, const Options& options) {
  check_generates(model);
  if (!options.only_with_diffusion.empty())
    fail<cli::UsageError>("{}: not a diffusion model, so {} cannot be used", model.file().path(),
                          options.only_with_diffusion);
}

std::string diffuse(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt,
                    const Options& options) {
  check_flags(*model, options);
  DiffusionOptions how = options.diffusion;
  if (options.predict >= 0) how.max_tokens = options.predict;
  how.sampler = cli::sampler_options(*model, options.sampler);
  how.cancel = &cli::interrupt_flag();
  check_diffusion(*model, how);  // before the weights are loaded
  Session session(model, diffusion_session(options.model.session, prompt.size(), how));
  cli::print_concessions(session);
  Diffusion text(session, 0, how);
  const Canvas canvas(options.diffusion_visual);
  Stage generated;
  std::int64_t n_steps = 0;
  for (std::int64_t i = 0; i < options.samples && !cli::interrupted(); ++i) {
    text.set_seed(how.sampler.seed + static_cast<std::uint64_t>(i));
    text.begin(prompt);
    const auto start = cli::Clock::now();
    while (text.step()) canvas.show(text);
    generated.seconds += cli::seconds_since(start);
    generated.tokens += text.n_text();
    n_steps += text.n_computed();
    canvas.clear();
    if (i > 0) cli::print_now(fmt::format("\n--- {}\n", i + 1));
    cli::print_now((i > 0 || options.hide_prompt ? "" : options.prompt) + text.text());
  }
  cli::print_now("\n");
  generated.fed = generated.tokens;
  return fmt::format("\n{}{}steps     {:>6} in {:.2f} s\nmemory    {} in all, seed {}\n",
                     cli::interrupted() ? remark(StopReason::cancelled) : "",
                     generated.to_text("generated"), n_steps, generated.seconds,
                     human_bytes(session.memory().total()), how.sampler.seed);
}

}  // namespace weft::generate
