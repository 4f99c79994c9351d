#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/files/output_file.h"
#include "weft/measure/forecast.h"
#include "weft/run/memory_plan.h"
#include "weft/run/modes.h"
#include "weft/run/plan_json.h"
#include "weft/scheduler/plan_svg.h"
#include "weft/scheduler/shard.h"
#include "weft/serve/embeddings.h"
#include "weft/serve/engine.h"

#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/knob_flags.h"
#include "common/rank_flags.h"
#include "inputs/variant.h"
#include "profiles/profile_file.h"
#include "reports/forecast_report.h"
#include "reports/plan_report.h"
#include "reports/rank_report.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// "decode", "prefill" (the widest), "prefill 64", "encode" (likewise), "all".
bool wanted(const PlannedModel& planned, const Plan& plan, const std::string& phase) {
  const auto i = static_cast<std::size_t>(&plan - planned.plans.data());
  if (phase == "prefill") return i + 1 == planned.n_step_plans;
  const auto [first, last] = planned.plans_of(arch::GraphPart::encoder);
  if (phase == "encode") return first < last && i + 1 == last;
  return phase == "all" || phase == plan.name;
}

void check_phase(const PlannedModel& planned, const std::string& phase) {
  std::string names = "all, prefill";
  for (const Plan& plan : planned.plans) {
    if (wanted(planned, plan, phase)) return;
    names += ", " + plan.name;
  }
  fail<cli::UsageError>("--phase must be one of {}, got '{}'", names, phase);
}

std::string text_of(const Model& model, const MemoryOffer& offer, const std::string& phase,
                    const ProfileFile* profile, const std::string& profile_path) {
  const PlannedModel& planned = offer.planned;
  std::string out = plan_head(model, offer);
  for (std::size_t i = 0; i < planned.plans.size(); ++i) {
    const Plan& plan = planned.plans[i];
    if (!wanted(planned, plan, phase)) {
      out += fmt::format("\nplan {}: {} steps, {} joins, arena {}, scratch {}\n", plan.name,
                         plan.steps.size(), plan.joins(), human_bytes(plan.arena_bytes),
                         human_bytes(plan.scratch_bytes));
      continue;
    }
    const Graph& graph = planned.graphs[i];
    const std::string text = plan.to_text();
    const std::size_t steps = std::min(text.find("stage 0\n"), text.size());
    const ProfiledPlan* of_plan =
        profile ? &profile_of(*profile, profile_path, graph, plan) : nullptr;
    out += '\n';
    out += text.substr(0, steps) + bounds_text(graph, plan, of_plan) + text.substr(steps);
  }
  return out;
}

struct Picture {
  std::string out, layers, profile;
};

struct Flags {
  cli::ModelFlags model;
  std::string phase = "decode";
  bool json = false, forecast = false;
  LinkSpeed link;
  std::int32_t hosts = 0;
  bool chat = false, server = false;
  std::int32_t slots = 0;              // for --server; 0: not given
  std::int64_t kept_prompts_mib = -1;  // likewise: EngineOptions::kept_prompts_bytes
  bool embeddings = false;
  cli::DraftFlags drafts;
  Picture picture;
};

void write_svg(const Model& model, const PlannedModel& planned, const std::string& phase,
               const Picture& picture, const ProfileFile* profile) {
  const std::size_t index = find_phase(planned, phase);
  const Graph& graph = planned.graphs[index];
  const Plan& plan = planned.plans[index];
  PlanPicture options;
  read_layers(picture.layers, model.facts().n_layers, options.first_layer, options.last_layer);
  const ProfiledPlan* of_plan = nullptr;
  std::optional<TimedStep> measured;
  if (profile) {
    of_plan = &profile_of(*profile, picture.profile, graph, plan);
    measured = read_median_step(picture.profile, plan.name);
    options.measured = &*measured;
  }
  options.title = fmt::format("{}, plan {}", model.facts().title(), plan.name);
  options.facts = fmt::format("{} steps, {} stages, {} joins\n{}", plan.steps.size(), plan.stages,
                              plan.joins(), bounds_text(graph, plan, of_plan));
  OutputFile file(picture.out);
  file.write(plan_svg(graph, plan, options));
  file.commit();
}

// The session options that a program asks for, and the offer it gets. The options alone give the
// same plan: with its sequences, and with the bytes that drafts reserve.
struct Planned {
  SessionOptions asked;
  MemoryOffer offer;
};

Planned with_sizes(SessionOptions asked, MemoryOffer offer) {
  const SessionOptions& got = offer.planned.options;
  asked.reserved = got.reserved;
  asked.sequences = got.sequences;
  asked.kept = got.kept;
  asked.kept_tokens = got.kept_tokens;
  asked.checkpoint_every = got.checkpoint_every;
  asked.logits_rows = got.logits_rows;
  return {std::move(asked), std::move(offer)};
}

Planned plan_embedder(const Model& model, const SessionOptions& session) {
  SessionOptions asked = embedder_session(model, {.session = session});
  MemoryOffer offer{.planned = plan_model(model, asked)};
  offer.slots = offer.planned.options.sequences;
  offer.concessions = offer.planned.concessions;
  return {std::move(asked), std::move(offer)};
}

// What generate, chat, an embedder or a server get with the flags.
Planned plan_of(const Model& model, const Flags& flags) {
  cli::ModelFlags of_model = flags.model;
  if (flags.embeddings) return plan_embedder(model, of_model.session);
  const SpeculationOptions drafts = cli::speculation_options(flags.drafts, model, of_model);
  SessionOptions& session = of_model.session;
  if (!flags.server) {
    const auto demand_of = flags.chat ? cli::demand_of_chat : cli::demand_of_texts;
    MemoryOffer offer = plan_memory(model, demand_of(model, session, drafts));
    return with_sizes(std::move(session), std::move(offer));
  }
  constexpr std::int32_t kSlots = 4;  // the default of weft serve
  EngineOptions options =
      server_options(model, session, flags.slots > 0 ? flags.slots : kSlots, flags.slots > 0);
  options.speculation = drafts;
  if (flags.kept_prompts_mib >= 0) options.kept_prompts_bytes = flags.kept_prompts_mib << 20;
  MemoryOffer offer = plan_engine(model, options);
  options.session.context = offer.planned.options.context;
  options.session.cells = offer.planned.options.cells;
  return with_sizes(std::move(options.session), std::move(offer));
}

// Returns --server.
cli::Option add_size_flags(cli::App& app, Flags& flags) {
  cli::add_cells_flag(app, flags.model.session);
  const cli::Option sequences =
      app.add_option("--sequences", flags.model.session.sequences,
                     "number of sequences, each with a context of its own")
          .range(1, 65536)
          .type_name("N");
  const cli::Option server =
      app.add_flag("--server", flags.server,
                   "plan the memory of weft serve with these flags: slots, which share the context "
                   "of -c, and kept prompts")
          .excludes(sequences);
  app.add_flag("--chat", flags.chat,
               "plan the memory of chat, which has room for states to go back to if the model has "
               "recurrent layers; otherwise it is that of generate")
      .excludes(sequences)
      .excludes(server);
  app.add_flag("--embeddings", flags.embeddings,
               "plan the memory of embeddings, as weft embed asks for it with texts that fill its "
               "steps")
      .excludes(server);
  app.add_option("--parallel", flags.slots,
                 "-np; slots of the server (default: 4, fewer if the memory budget requires it)")
      .range(1, 1024)
      .needs(server)
      .type_name("N");
  app.add_option("--cache-ram", flags.kept_prompts_mib,
                 "MiB for prompts that the server keeps beside the slots; 0: none; -1 (default): a "
                 "share of the budget")
      .range(-1, std::int64_t{1} << 40)
      .needs(server)
      .type_name("N");
  app.add_option("--checkpoint-every", flags.model.session.checkpoint_every,
                 "tokens between the states of recurrent layers that are kept so that other texts "
                 "can branch there (default: 256)")
      .range(1, std::int64_t{1} << 30)
      .needs(server)
      .type_name("N");
  return server;
}

void add_examples(cli::App& app) {
  app.footer(
      "Examples:\n"
      "  weft plan -m model.gguf -c 8192\n"
      "  weft plan -m model.gguf --mem-budget 8G --forecast\n"
      "  weft plan -m model.gguf --hosts 4 --mem-budget 6G --link 0.1ms,1Gbit\n"
      "  weft plan -m model.gguf -c 8192 --sequences 32 --cache-cells 65536\n"
      "  weft plan -m model.gguf --mem-budget 2G --phase prefill\n"
      "  weft plan -m model.gguf --mem-budget 6G --server   # the plan of weft serve\n"
      "  weft plan -m model.gguf -md small.gguf --server    # with a draft model\n"
      "  weft plan -m model.gguf --svg plan.svg --layers 0-1\n"
      "  weft plan -m model.gguf --json | jq .memory");
}

// Call it after the other flags were added.
void add_rank_flags(cli::App& app, Flags& flags) {
  cli::add_rank_flag(app, flags.model);
  app.get_option("--rank").excludes(app.get_option("--forecast"));  // which is of all ranks
  app.add_option_function(
         "--link",
         [&flags](const std::string& text) { flags.link = cli::link_of_flag("--link", text); },
         "latency and bandwidth between ranks, for forecasts (default: 0.1ms,1Gbit)")
      .type_name("TIME,RATE");
  const cli::Option hosts =
      app.add_option("--hosts", flags.hosts,
                     "forecast all ways to divide the model among that many machines like this "
                     "one, and say which is best")
          .range(1, kMaxRanks)
          .type_name("N");
  for (const char* other :
       {"--shard", "--rank", "--phase", "--json", "--svg", "--profile", "--server"})
    hosts.excludes(app.get_option(other));
}

void check_rank_flags(const cli::App& app, const Flags& flags) {
  const bool divided = flags.model.sharding.ranks() > 1;
  if (app.get_option("--link").given() && !divided && flags.hosts == 0)
    fail<cli::UsageError>("--link is the link between ranks: give --hosts or --shard, too");
  if (flags.forecast && flags.json && divided)
    fail<cli::UsageError>("--json: {}", why_not(Feature::forecasts_json, Mode::sharded));
}

void check_embedder_flags(const Flags& flags) {
  if (flags.embeddings && (flags.drafts.kinds_given || !flags.drafts.file.empty()))
    fail<cli::UsageError>("--embeddings has no drafts: leave out -md and --spec-type");
}

void add_flags(cli::App& app, Flags& flags) {
  cli::add_model_flags(app, flags.model);
  const cli::Option server = add_size_flags(app, flags);
  cli::add_draft_flags(app, flags.drafts);
  const cli::Option phase =
      app.add_option(
             "--phase", flags.phase,
             "which plan to show in full: decode, prefill (the widest), 'prefill 8', encode (of a "
             "model with an encoder), all")
          .type_name("NAME");
  const cli::Option json =
      app.add_flag("--json", flags.json, "print everything as one JSON object");
  const cli::Option svg =
      app.add_option(
             "--svg", flags.picture.out,
             "draw the arena over the steps and the lanes over time, instead of printing text")
          .type_name("FILE.svg")
          .excludes(json);
  app.add_option("--layers", flags.picture.layers,
                 "draw only the steps of these layers, for example 0-1")
      .type_name("A-B")
      .needs(svg);
  const cli::Option profile =
      app.add_option("--profile", flags.picture.profile,
                     "draw times measured by weft profile (-o FILE or --json) instead of estimates")
          .type_name("FILE")
          .excludes(json);
  app.add_flag("--forecast", flags.forecast,
               "also time steps with samples of the weights, and forecast tokens per second after "
               "0, 4096 and 16384 tokens, in memory and from disk, and the time to start; of a "
               "model divided by --shard, tokens per second")
      .excludes(svg)
      .excludes(server)
      .excludes(phase)
      .excludes(profile);
  add_rank_flags(app, flags);
}

bench::RankForecast forecast_of(const Flags& flags, const Sharding& sharding,
                                const SessionOptions& session, bool timed) {
  ModelOptions options = cli::model_options(flags.model);
  options.sharding = sharding;
  const bench::RankForecastOptions how{
      .link = flags.link, .seconds = timed ? 1.0 : 0.0, .cancel = &cli::interrupted()};
  return bench::forecast_ranks(flags.model.path, options, session, how);
}

// Prints the ways to use some machines.
int print_hosts(const Flags& flags) {
  cli::catch_interrupts(cli::Interrupts::once);
  std::vector<bench::RankForecast> all;
  for (const Sharding& sharding : bench::shardings_of(flags.hosts))
    all.push_back(forecast_of(flags, sharding, flags.model.session, true));
  std::cout << to_text(all, flags.link);
  const auto possible = [](const bench::RankForecast& f) { return f.refused.empty(); };
  return std::ranges::any_of(all, possible) ? 0 : cli::kError;
}

// Prints the plan, or the forecast in place of the details of the plan.
void print_forecast(const std::shared_ptr<const Model>& model, const Flags& flags,
                    const Planned& planned) {
  cli::catch_interrupts(cli::Interrupts::once);
  if (model->sharding().ranks() > 1) {
    std::cout << to_text(forecast_of(flags, model->sharding(), planned.asked, true), flags.link);
    return;
  }
  const bench::Forecast forecast =
      bench::forecast(model, planned.asked, {.cancel = &cli::interrupted()});
  if (!flags.json) {
    std::cout << plan_head(*model, planned.offer) << to_text(forecast);
    return;
  }
  auto json = nlohmann::ordered_json::parse(to_json(*model, planned.offer));
  json["forecast"] = nlohmann::ordered_json::parse(to_json(forecast));
  std::cout << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

int plan(int argc, char** argv) {
  cli::App app(
      "Shows how a model would run and what it would need, from the file's header alone.\n"
      "With --forecast, also how fast.",
      "weft plan");
  Flags flags;
  add_flags(app, flags);
  add_examples(app);
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  check_rank_flags(app, flags);
  check_embedder_flags(flags);
  if (flags.hosts > 0) return print_hosts(flags);
  cli::complete(flags.drafts, flags.model);
  flags.model.session.progress = {};
  cli::use_lone_rank(flags.model);
  const auto model = cli::load_inspected_model(flags.model);
  const Picture& picture = flags.picture;
  std::optional<ProfileFile> profile;
  if (!picture.profile.empty()) profile = read_profile(picture.profile, flags.model.session);
  const ProfileFile* measured = profile ? &*profile : nullptr;
  const Planned all = plan_of(*model, flags);
  const MemoryOffer& offer = all.offer;
  const PlannedModel& planned = offer.planned;
  check_phase(planned, flags.phase);
  if (!picture.out.empty()) {
    write_svg(*model, planned, flags.phase, picture, measured);
  } else if (flags.forecast) {
    print_forecast(model, flags, all);
  } else if (flags.json) {
    std::cout << to_json(*model, offer);
  } else {
    if (model->sharding().ranks() > 1)
      std::cout << to_text(forecast_of(flags, model->sharding(), all.asked, false), flags.link)
                << '\n'
                << "rank " << flags.model.rank << '\n';
    std::cout << text_of(*model, offer, flags.phase, measured, picture.profile);
  }
  return 0;
}

}  // namespace

const Subcommand kPlan{"plan", "shows how a model would run: order, memory, lanes, kernels", plan};

}  // namespace weft::tools
