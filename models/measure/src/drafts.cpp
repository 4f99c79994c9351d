#include "weft/measure/drafts.h"

#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/serve/generation.h"

namespace weft::bench {
namespace {

// Counts steps. If the text is known, guesses agree with it as often as wanted. The draft does not
// hear of ended texts: the next run writes the same one.
class WatchedDraft final : public Draft {
 public:
  WatchedDraft(std::shared_ptr<Draft> inner, std::optional<double> acceptance,
               std::span<const TokenId> text, TokenId n_vocab)
      : inner_(std::move(inner)), acceptance_(acceptance), text_(text), n_vocab_(n_vocab) {}

  void begin() override { inner_->begin(); }
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    inner_->propose(request, guesses);
    if (!acceptance_) return;
    for (std::size_t i = 0; i < guesses.size(); ++i) {
      const std::size_t at = request.tokens.size() + i;
      if (at >= text_.size()) break;
      const bool agrees = std::bernoulli_distribution(*acceptance_)(random_);
      guesses[i] = agrees ? text_[at] : (text_[at] + 1) % n_vocab_;
    }
  }
  void stepped(const DraftStep& step) override {
    ++n_steps;
    inner_->stepped(step);
  }
  void settled(std::size_t guesses, std::size_t right) override {
    Draft::settled(guesses, right);
    inner_->settled(guesses, right);
  }

  std::int64_t n_steps = 0;

 private:
  std::shared_ptr<Draft> inner_;
  std::optional<double> acceptance_;
  std::span<const TokenId> text_;
  TokenId n_vocab_;
  std::mt19937 random_{1};
};

struct Run {
  std::vector<TokenId> tokens;
  double seconds = 0;
};

Run write(Session& session, const DraftTest& test, std::shared_ptr<Draft> draft,
          std::size_t max_guesses, const std::atomic<bool>* cancel) {
  // What the last run has read of the prompt need not be read again.
  const std::int64_t n_read = std::min(session.length(0), std::ssize(test.prompt) - 1);
  const std::int64_t kept = session.resume_point(0, n_read);
  session.truncate(0, kept);
  Generation text(session, 0,
                  {.sampler = {.temperature = 0},
                   .max_tokens = test.tokens,
                   .ignore_eos = true,
                   .draft = std::move(draft),
                   .max_guesses = max_guesses});
  text.begin(test.prompt);
  text.prefill();
  const Clock::time_point start = Clock::now();
  while (!text.ended()) {
    text.next();
    if (cancel && *cancel) fail<CancelledError>("the measurement was cancelled");
  }
  return {{text.tokens().begin(), text.tokens().end()}, seconds_since(start)};
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

DraftReport measure_drafts(Session& plain, Session& session, const Speculation& speculation,
                           const DraftTest& test, const std::atomic<bool>* cancel) {
  const auto draft = speculation.draft();
  if (!draft) fail<ValueError>("there are no drafts to measure");
  for (Session* one : {&plain, &session}) one->truncate(0, 0);
  DraftReport report;
  const auto n_vocab = static_cast<TokenId>(session.model().facts().n_vocab);
  const double n = static_cast<double>(test.tokens);
  SpeculationCounters before;
  for (std::int64_t i = -1; i < test.repeats; ++i) {  // the first one warms up
    const Run without = write(plain, test, nullptr, 0, cancel);
    const auto watched =
        std::make_shared<WatchedDraft>(draft, test.acceptance, without.tokens, n_vocab);
    const Run with = write(session, test, watched, speculation.max_guesses(), cancel);
    if (with.tokens != without.tokens) fail<Error>("the text with drafts is another one");
    if (i < 0) {
      before = speculation.counters();
      continue;
    }
    report.without.rates.push_back(n / without.seconds);
    report.with.rates.push_back(n / with.seconds);
    report.gain.rates.push_back(without.seconds / with.seconds);
    report.n_steps += watched->n_steps;
  }
  report.drafted = speculation.counters();
  report.drafted.n_drafted -= before.n_drafted;
  report.drafted.n_right -= before.n_right;
  report.drafted.seconds -= before.seconds;
  report.drafted.seconds_without -= before.seconds_without;
  return report;
}

std::string to_text(const DraftReport& report, const DraftTest& test) {
  const auto row = [](const char* name, const Series& s) {
    return fmt::format("{:<8}{:>9.2f} +- {:.2f} tokens/s\n", name, s.median(), s.spread());
  };
  const std::int64_t n = test.tokens * test.repeats;
  std::string text = row("without", report.without) + row("with", report.with);
  const std::string texts = fmt::format("{} texts of {} tokens", test.repeats, test.tokens);
  text += report.drafted.n_drafted > 0
              ? fmt::format("gain    {:>9.2f} ({:.2f} to {:.2f}) times as fast, {}\n",
                            report.gain.median(), report.gain.min(), report.gain.max(), texts)
              : fmt::format("gain    {:>9} (nothing was drafted), {}\n", "-", texts);
  text += fmt::format("drafted {:>9} tokens", report.drafted.n_drafted);
  if (report.drafted.n_drafted > 0)
    text += fmt::format(", {:.0f} % of them right",
                        100 * share(report.drafted.n_right, report.drafted.n_drafted));
  return text + fmt::format("; {:.2f} tokens per step{}\n", share(n, report.n_steps),
                            test.acceptance ? ", with a made acceptance" : "");
}

std::string to_json(const DraftReport& report, const DraftTest& test) {
  const auto series = [](const Series& s) {
    return nlohmann::json{{"median", s.median()}, {"spread", s.spread()}, {"all", s.rates}};
  };
  nlohmann::json json{
      {"tokens", test.tokens},
      {"repeats", test.repeats},
      {"without", series(report.without)},
      {"with", series(report.with)},
      {"gain", report.drafted.n_drafted > 0 ? series(report.gain) : nlohmann::json()},
      {"drafted", report.drafted.n_drafted},
      {"right", report.drafted.n_right},
      {"steps", report.n_steps}};
  if (test.acceptance) json["acceptance"] = *test.acceptance;
  return json.dump() + "\n";
}

}  // namespace weft::bench
