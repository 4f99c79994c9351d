#include "common/draft_flags.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/run/draft_file.h"

#include "common/program.h"

namespace weft::cli {
namespace {

// Guesses that models with recurrent states check in a step: each takes memory for the states.
constexpr std::int64_t kRewind = 4;

std::vector<DraftKind> parse_kinds(const std::string& text) {
  try {
    return draft_kinds_in(text);
  } catch (const ValueError& error) {
    reject_value("--spec-type", fmt::format("{}, none", error.what()));
  }
}

std::string kind_names() {
  std::vector<std::string_view> names;
  std::ranges::transform(draft_kinds(), std::back_inserter(names),
                         [](DraftKind kind) { return to_string(kind); });
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_look_up_flag(App& app, SpeculationOptions& o) {
  app.add_option_function(
         "--spec-ngram-size-n", App::Function<std::int64_t>([&o](std::int64_t n) {
           o.ngram_size = static_cast<std::size_t>(n);
         }),
         fmt::format("ngram-simple: how many of the last tokens must have occurred "
                     "before (default: {})",
                     o.ngram_size))
      .range(1, kMaxNgram)
      .type_name("N");
}

}  // namespace

void add_draft_flags(App& app, DraftFlags& flags) {
  SpeculationOptions& o = flags.speculation;
  app.add_option(
         "--model-draft,--spec-draft-model", flags.file,
         "-md; a smaller model of the same vocabulary that guesses tokens, several of which "
         "are checked in one step; the text is the same. Or a file with the model's own layer for "
         "that (draft-mtp), or an EAGLE-3 head (draft-eagle3)")
      .type_name("FILE");
  app.add_option_function(
         "--spec-type", App::Function<std::string>([&flags](const std::string& text) {
           flags.speculation.kinds = parse_kinds(text);
           flags.kinds_given = true;
         }),
         fmt::format(
             "who guesses tokens, the first that has any: a list of {} (draft: the model of "
             "-md; draft-mtp: the model's own layer for that; draft-eagle3: the head of -md; "
             "ngram-simple: what followed "
             "when the last tokens occurred before), or none. Default: what the file of -md "
             "holds, else draft-mtp if the model has such a layer",
             kind_names()))
      .type_name("NAME,...");
  app.add_option_function(
         "--spec-draft-n-max,--draft-max,--draft-n,--draft",
         App::Function<std::int64_t>(
             [&o](std::int64_t n) { o.max_guesses = static_cast<std::size_t>(n); }),
         fmt::format("guesses in a step at most; fewer where they do not pay (default: {})",
                     o.max_guesses))
      .range(1, kMaxGuesses)
      .type_name("N");
  app.add_option("--spec-draft-p-min,--draft-p-min", o.p_min,
                 "a draft model stops before a guess that it finds less likely")
      .real_range(0, 1)
      .capture_default_str()
      .type_name("P");
  add_look_up_flag(app, o);
  app.add_flag("--spec-adaptive,!--no-spec-adaptive", o.adaptive,
               "guess only as much as measured times justify (default: yes)");
}

namespace {

// The kind of drafts that the file of -md is for.
DraftKind kind_of_file(const DraftFlags& flags, const ModelFlags& model) {
  const auto file = Checkpoint::open(flags.file, {model.allow_unknown_settings});
  const DraftFileKind kind = draft_file_kind(file);
  if (kind == DraftFileKind::head) return DraftKind::eagle3;
  return kind == DraftFileKind::layer ? DraftKind::mtp : DraftKind::model;
}

}  // namespace

void complete(DraftFlags& flags, ModelFlags& model) {
  auto& kinds = flags.speculation.kinds;
  const auto has = [&](DraftKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  for (const DraftKind kind : {DraftKind::model, DraftKind::eagle3}) {
    if (has(kind) && flags.file.empty())
      fail<UsageError>("--spec-type {} needs a draft model: -md FILE", to_string(kind));
  }
  if (flags.file.empty()) return;
  const DraftKind kind = kind_of_file(flags, model);
  if (!flags.kinds_given) kinds = {kind};
  if (has(DraftKind::model) && kind != DraftKind::model)
    fail<UsageError>("--spec-type {} needs a model, but the file of -md is for {}: {}",
                     to_string(DraftKind::model), to_string(kind), flags.file);
  if (kind != DraftKind::model && !kinds.empty() && !has(kind))
    fail<UsageError>("the file of -md is for --spec-type {}: {}", to_string(kind), flags.file);
  if (kind == DraftKind::model && flags.kinds_given && !has(kind))
    fail<UsageError>("the model of -md is for --spec-type {}: {}", to_string(kind), flags.file);
  const bool by_layer = has(DraftKind::mtp) || has(DraftKind::eagle3);
  // A file of another kind is refused when the model is loaded.
  if (by_layer && !has(DraftKind::model)) model.draft_file = flags.file;
}

SpeculationOptions speculation_options(const DraftFlags& flags, const Model& model,
                                       ModelFlags& flags_of_model) {
  SpeculationOptions options = flags.speculation;
  const auto has = [&](DraftKind kind) {
    return std::ranges::find(options.kinds, kind) != options.kinds.end();
  };
  if (!flags.kinds_given && options.kinds.empty() && model.facts().drafts)
    options.kinds = {DraftKind::mtp};
  options.warn = flags_of_model.session.warn;
  options.draft_session = flags_of_model.session;
  options.draft_session.progress = {};
  options.draft_session.route.clear();  // its rules name nodes of the model
  flags_of_model.session.draft_layer = has(DraftKind::mtp) || has(DraftKind::eagle3);
  if (!options.kinds.empty())
    flags_of_model.session.rewind =
        std::min(static_cast<std::int64_t>(options.max_guesses), kRewind);
  if (!has(DraftKind::model)) return options;
  options.draft_model =
      Model::load(flags.file, {.progress = flags_of_model.session.progress,
                               .allow_unknown_settings = flags_of_model.allow_unknown_settings});
  for (const std::string& warning : options.draft_model->warnings())
    if (options.warn) options.warn(warning);
  return options;
}

MemoryDemand demand_of_texts(const Model& model, const SessionOptions& session,
                             const SpeculationOptions& drafts) {
  return {.session = session, .slots = session.sequences, .drafts = draft_demand(model, drafts)};
}

std::string draft_report(const Speculation& speculation) {
  const SpeculationCounters all = speculation.counters();
  if (all.n_drafted == 0) return "";
  std::vector<std::string> kinds;
  for (const DraftKind kind : speculation.kinds()) {
    const SpeculationCounters c = speculation.counters(kind);
    kinds.push_back(fmt::format("{} {} of {}", to_string(kind), c.n_right, c.n_drafted));
  }
  std::string text = fmt::format("{:<10}{:>6} tokens, {} of them right ({})", "drafted",
                                 all.n_drafted, all.n_right, fmt::join(kinds, ", "));
  if (all.seconds > 0 && all.seconds_without > 0)
    text += fmt::format("; {:.2f} times as fast as without", all.seconds_without / all.seconds);
  return text + '\n';
}

}  // namespace weft::cli
