#include "generate/beams.h"

#include <algorithm>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/run/session_beams.h"
#include "weft/tokenize/tokenizer.h"

#include "common/program.h"

namespace weft::cli {
namespace {

// Hypotheses that keep to a grammar, banned strings and stop strings.
class RuledBeams : public SessionBeams {
 public:
  RuledBeams(Session& session, TextRules& rules, bool ignore_eos)
      : SessionBeams(session, &interrupted()),
        rules_(rules),
        vocabulary_(session.model().vocabulary()),
        ignore_eos_(ignore_eos),
        texts_{{rules.place(), {}}} {}

  std::span<const float> logprobs(std::size_t beam) override {
    std::span<const float> row = SessionBeams::logprobs(beam);
    if (rules_.any()) {
      rules_.go_to(texts_[beam].place, texts_[beam].tokens);
      try {
        row = rules_.allowed(row);
      } catch (const ValueError&) {  // this hypothesis cannot go on: others may
        row_.assign(row.size(), -std::numeric_limits<float>::infinity());
        return row_;
      }
    }
    if (!ignore_eos_) return row;
    row_.assign(row.begin(), row.end());
    for (TokenId id = 0; id < vocabulary_.size(); ++id) {
      if (vocabulary_.ends_generation(id))
        row_[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
    return row_;
  }

  bool ends(std::size_t beam, TokenId token) override {
    if (SessionBeams::ends(beam, token)) return true;
    if (!rules_.any()) return false;
    rules_.go_to(texts_[beam].place, texts_[beam].tokens);
    return rules_.accept(token) || rules_.at_stop();
  }

  void advance(std::span<const BeamStep> chosen) override {
    SessionBeams::advance(chosen);
    if (!rules_.any()) return;
    std::vector<Text> texts;
    for (const BeamStep& step : chosen) {
      Text text = texts_[step.beam];
      rules_.go_to(text.place, text.tokens);
      rules_.accept(step.token);
      text.place = rules_.place();
      text.tokens.push_back(step.token);
      texts.push_back(std::move(text));
    }
    texts_ = std::move(texts);
  }

 private:
  struct Text {
    TextRules::Place place;
    std::vector<TokenId> tokens;
  };
  TextRules& rules_;
  const Vocabulary& vocabulary_;
  const bool ignore_eos_;
  std::vector<Text> texts_;
  std::vector<float> row_;
};

}  // namespace

void add_beam_flags(CLI::App& app, BeamFlags& flags) {
  auto* beams = app.add_option("--beams", flags.beams,
                               "search for the likeliest text as a whole, following so many at a "
                               "time; with --samples K the K best")
                    ->check(CLI::Range(1, 1024))
                    ->type_name("N");
  app.add_option("--length-penalty", flags.length_penalty,
                 "a text's log probability is divided by its length to this power; 0: short texts "
                 "win, above 1: long ones")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str()
      ->needs(beams)
      ->type_name("X");
  static constexpr EarlyStopping kAll[] = {EarlyStopping::first, EarlyStopping::likely,
                                           EarlyStopping::never};
  app.add_option_function<std::string>(
         "--early-stopping",
         [&flags](const std::string& name) {
           flags.stopping =
               *std::ranges::find(kAll, name, [](EarlyStopping s) { return to_string(s); });
         },
         "once N texts are complete, end the search at once (first), when others are not likely to "
         "be better (likely, the default), or cannot be (never)")
      ->check(CLI::IsMember({"first", "likely", "never"}))
      ->needs(beams)
      ->type_name("WHEN");
}

FoundTexts search_texts(Session& session, TextRules& rules, const BeamFlags& flags, bool ignore_eos,
                        std::int64_t most_tokens) {
  RuledBeams model(session, rules, ignore_eos);
  BeamSearch search(model, {.beams = static_cast<std::size_t>(flags.beams),
                            .length_penalty = flags.length_penalty,
                            .stopping = flags.stopping,
                            .max_tokens = most_tokens});
  bool stopped = false;
  try {
    while (!interrupted() && search.step()) {
    }
  } catch (const CancelledError&) {
    stopped = true;
  }
  return {search.best(), search.n_tokens(), stopped || interrupted()};
}

std::string describe(std::size_t number, const Hypothesis& found) {
  return fmt::format("beam {}: score {:.4f}, log probability {:.2f}, {} tokens{}\n", number,
                     found.score, found.logprob, found.tokens.size(), found.ended ? "" : ", cut");
}

}  // namespace weft::cli
