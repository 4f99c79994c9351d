#include "weft/measure/perplexity.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "common/flags.h"
#include "inputs/windows.h"
#include "reports/perplexity_report.h"
#include "reports/progress.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  std::string text, save, base;
  std::int64_t windows = 0, first = 0;
  bool json = false;
};

// The windows of saved logits.
Windows windows_of(const SavedLogits& saved, const Model& model, const Flags& flags) {
  const std::int64_t n_vocab = model.facts().n_vocab;
  if (saved.n_vocab() != n_vocab) {
    fail<ValueError>("{}: has logits for {} tokens, but the vocabulary of the model has {}",
                     printable_path(flags.base), saved.n_vocab(), n_vocab);
  }
  for (const std::int32_t token : saved.tokens()) {
    if (token < 0 || token >= n_vocab) {
      fail<FormatError>("{}: token {} is outside the vocabulary of {}", printable_path(flags.base),
                        token, n_vocab);
    }
  }
  return {.tokens = saved.tokens(), .size = saved.window(), .bos = bos_of(model)};
}

// Checks that the text is the one for which the logits were saved.
void check_text(const Windows& saved, const Model& model, const Flags& flags) {
  const Windows text = read_windows(model, flags.text, saved.size, 0, saved.count());
  if (text.tokens == saved.tokens) return;
  const auto differ = std::ranges::mismatch(text.tokens, saved.tokens).in1 - text.tokens.begin();
  fail<ValueError>("{}: its logits belong to another text than {}: token {} differs",
                   printable_path(flags.base), printable_path(flags.text), differ);
}

Windows choose_windows(const std::optional<SavedLogits>& saved, const Model& model,
                       const Flags& flags) {
  if (!saved) {
    return read_windows(model, flags.text, flags.model.session.context, flags.first, flags.windows);
  }
  Windows all = windows_of(*saved, model, flags);
  if (!flags.text.empty()) check_text(all, model, flags);
  if (flags.windows > 0 && flags.windows < all.count())
    all.tokens.resize(static_cast<std::size_t>(flags.windows * all.size));
  return all;
}

SessionOptions session_for(const Windows& windows, const Model& model, SessionOptions options) {
  options.context = windows.size;
  options.prefill_width = std::min(options.prefill_width, windows.size);
  options.logits_rows =
      rows_that_fit(model, std::min(options.prefill_width, rows_per_window(windows.size)));
  return options;
}

std::string so_far(const PerplexityReport& r) {
  const Estimate p = r.perplexity();
  std::string text = fmt::format("perplexity {:.4f} +- {:.4f}", p.value, p.error);
  if (r.comparison.count() > 0)
    text += fmt::format(", divergence {:.6f}", r.comparison.divergence().value);
  return text;
}

// Calls work(begin, end) for parts of 0 .. n - 1, on two threads if n is large.
template <class Work>
void in_halves(std::size_t n, bool much, Work work) {
  if (!much || n < 2) return work(0, n);
  std::exception_ptr first_failure, second_failure;
  std::thread second([&] {
    try {
      work(n / 2, n);
    } catch (...) {
      second_failure = std::current_exception();
    }
  });
  try {
    work(0, n / 2);
  } catch (...) {
    first_failure = std::current_exception();
  }
  second.join();
  if (first_failure) std::rethrow_exception(first_failure);
  if (second_failure) std::rethrow_exception(second_failure);
}

// Scores rows of logits, in order.
class Scorer {
 public:
  Scorer(const Windows& windows, const std::optional<SavedLogits>& base, LogitsWriter* save,
         std::size_t n_vocab, int workers, PerplexityReport& report)
      : windows_(windows),
        base_(base),
        save_(save),
        n_vocab_(n_vocab),
        workers_(workers),
        report_(report) {}

  void score(std::int64_t window, std::size_t position, std::span<const float> rows) {
    constexpr std::size_t kMinValuesPerThread = std::size_t{1}
                                                << 18;  // below, a thread costs more than it saves
    scores_.resize(rows.size() / n_vocab_);
    in_halves(scores_.size(), workers_ > 1 && rows.size() >= kMinValuesPerThread,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i)
                  scores_[i] =
                      score_one(window, position + i, rows.subspan(i * n_vocab_, n_vocab_));
              });
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (!std::isfinite(scores_[i].nll)) {
        fail<Error>("window {}, position {}: the next token has no probability ({})", window,
                    position + i, scores_[i].nll);
      }
      report_.nll.add(scores_[i].nll);
      if (base_) report_.comparison.add(scores_[i]);
      if (save_) save_->add(rows.subspan(i * n_vocab_, n_vocab_));
    }
  }

 private:
  Compared score_one(std::int64_t window, std::size_t position,
                     std::span<const float> logits) const {
    const std::int32_t next = windows_.at(window)[position + 1];
    if (!base_) return {.nll = negative_log_likelihood(logits, next)};
    const std::int64_t row = static_cast<std::int64_t>(position) - first_scored(windows_.size);
    return compare(logits, base_->row(window, row), next);
  }

  const Windows& windows_;
  const std::optional<SavedLogits>& base_;
  LogitsWriter* save_;
  std::size_t n_vocab_;
  int workers_;
  PerplexityReport& report_;
  std::vector<Compared> scores_;  // scores of one step
};

PerplexityReport measure(const Flags& flags) {
  std::optional<SavedLogits> base;
  if (!flags.base.empty()) base = SavedLogits::open(flags.base);
  const auto model = cli::load_model(flags.model);
  if (!flags.save.empty()) check_output(model->file(), flags.save);
  const Windows windows = choose_windows(base, *model, flags);
  if (windows.count() == 0) {
    fail<ValueError>("{}: no window is left after the first {}", printable_path(flags.text),
                     flags.first);
  }
  Session session(model, session_for(windows, *model, flags.model.session));
  cli::print_concessions(session);
  std::optional<LogitsWriter> save;
  if (!flags.save.empty())
    save.emplace(flags.save, windows.size, model->facts().n_vocab, windows.tokens);

  PerplexityReport report{.model = flags.model.path, .window = windows.size};
  Scorer scorer(windows, base, save ? &*save : nullptr,
                static_cast<std::size_t>(model->facts().n_vocab), session.options().workers,
                report);
  Progress progress("window", windows.count());
  const auto wants = [first = first_scored(windows.size)](std::size_t position) {
    return static_cast<std::int64_t>(position) >= first;
  };
  for (std::int64_t i = 0; i < windows.count(); ++i) {
    // The last token of a window is only predicted.
    const auto tokens = windows.at(i).first(static_cast<std::size_t>(windows.size - 1));
    run_window(session, tokens, windows.bos, &cli::interrupted(), nullptr, wants,
               [&](std::size_t position, std::span<const float> rows) {
                 scorer.score(i, position, rows);
               });
    ++report.windows;
    progress.show(i + 1, so_far(report));
  }
  if (save) save->commit();
  return report;
}

void check_flags(const Flags& flags, bool has_context) {
  if (flags.text.empty() && flags.base.empty())
    throw cli::UsageError("-f is required: the text to read");
  if (!flags.base.empty() && (has_context || flags.first > 0))
    throw cli::UsageError(
        "-c and --from-chunk cannot be used with --kl: the saved logits determine them");
  if (!flags.base.empty() && !flags.save.empty())
    throw cli::UsageError("--save-logits and --kl exclude each other");
  const std::int64_t size = flags.model.session.context;
  if (size < 4) throw cli::UsageError(fmt::format("-c must be at least 4 tokens, got {}", size));
}

int perplexity(int argc, char** argv) {
  cli::App app(
      "Measures how well a model predicts a text. The text is divided into windows of -c tokens; "
      "the "
      "second half of each is predicted from the tokens before it in the window.",
      "weft perplexity");
  Flags flags;
  flags.model.session.context = 512;
  cli::add_model_flags(app, flags.model);
  app.add_option("-f,--file", flags.text, "the text; - for stdin").type_name("FILE");
  app.add_option("--chunks", flags.windows, "maximum number of windows; 0: all")
      .not_negative()
      .type_name("N");
  app.add_option("--from-chunk", flags.first, "number of windows to skip at the start")
      .not_negative()
      .type_name("N");
  app.add_option("--save-logits", flags.save,
                 "save the model's logits, to compare other models with them")
      .type_name("FILE");
  app.add_option("--kl", flags.base, "compare with the saved logits of another model, on its text")
      .type_name("FILE");
  app.add_flag("--json", flags.json, "print the results as JSON");
  app.get_option("--ctx-size").description("tokens per window").default_str("512");
  app.footer(
      "Examples:\n"
      "  weft perplexity -m model.gguf -f wiki.test.raw\n"
      "  weft perplexity -m model-f16.gguf -f wiki.test.raw --save-logits f16.logits\n"
      "  weft perplexity -m model-q4_k_m.gguf --kl f16.logits");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  check_flags(flags, app.get_option("--ctx-size").given());

  cli::catch_interrupts(cli::Interrupts::once);
  const PerplexityReport report = measure(flags);
  std::cout << (flags.json ? to_json(report) : to_text(report));
  return 0;
}

}  // namespace

const Subcommand kPerplexity{
    "perplexity", "measures perplexity, and the divergence from another model", perplexity};

}  // namespace weft::tools
