#include "common/draft_flags.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/run/draft_file.h"
#include "weft/run/ranks.h"
#include "weft/serve/speculation_knobs.h"

#include "common/knob_flags.h"
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

// "draft (the model of -md), draft-mtp (..), .."
std::string kinds_with_meanings() {
  std::string text;
  for (const DraftKind kind : draft_kinds())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", to_string(kind), meaning_of(kind));
  return text;
}

}  // namespace

void add_draft_flags(App& app, DraftFlags& flags) {
  SpeculationOptions& o = flags.speculation;
  const KnobText& model = described<SpeculationOptions>("draft_model");
  add_value_flag(app, model, {}, flags.file).description("-md; " + help_text(model));
  const KnobText& type = described<SpeculationOptions>("type");
  const auto set_kinds = [&flags](const std::string& text) {
    flags.speculation.kinds = parse_kinds(text);
    flags.kinds_given = true;
  };
  app.add_option_function(std::string(type.flags), App::Function<std::string>(set_kinds),
                          help_text(type) + ": a list of " + kinds_with_meanings() +
                              ". Default: what the file of -md holds, else "
                              "draft-mtp if the model has such a layer")
      .type_name(std::string(type.value));
  for (const char* number : {"n_max", "p_min", "ngram_size_n"})
    add_option_flag(app, o, number).capture_default_str();
  add_option_flag(app, o, "adaptive")
      .description(help_text(described<SpeculationOptions>("adaptive")) + " (default: yes)");
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
  for (const DraftKind kind : kinds) {
    const bool by_file = needs_of(kind) == DraftNeeds::model || needs_of(kind) == DraftNeeds::head;
    if (by_file && flags.file.empty())
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
  const bool by_layer = std::ranges::any_of(kinds, uses_draft_layer);
  // A file of another kind is refused when the model is loaded.
  if (by_layer && !has(DraftKind::model)) model.draft_file = flags.file;
}

SpeculationOptions speculation_options(const DraftFlags& flags, const Model& model,
                                       ModelFlags& flags_of_model) {
  SpeculationOptions options = flags.speculation;
  const auto has = [&](DraftKind kind) {
    return std::ranges::find(options.kinds, kind) != options.kinds.end();
  };
  if (!flags.kinds_given && options.kinds.empty()) {
    const auto kind = default_draft(/*draft_model=*/false, model.facts().drafts, model.facts());
    if (kind) options.kinds = {*kind};
  }
  options.warn = flags_of_model.session.warn;
  options.draft_session = draft_session_like(flags_of_model.session);
  flags_of_model.session.draft_layer = std::ranges::any_of(options.kinds, uses_draft_layer);
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

MemoryDemand demand_of_chat(const Model& model, const SessionOptions& session,
                            const SpeculationOptions& drafts) {
  constexpr std::int32_t kMarkedStates = 6;
  MemoryDemand demand = demand_of_texts(model, session, drafts);
  if (launched_ranks() <= 1) demand.marked_states = kMarkedStates;
  return demand;
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
