#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/backends/tunables.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/files/output_file.h"
#include "weft/measure/forecast.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/run/memory_plan.h"
#include "weft/run/plan_json.h"
#include "weft/scheduler/plan_svg.h"
#include "weft/scheduler/shard.h"
#include "weft/scheduler/timeline.h"
#include "weft/serve/engine.h"

#include "common/flags.h"
#include "common/rank_flags.h"
#include "inputs/variant.h"
#include "profiles/profile_file.h"
#include "reports/forecast_report.h"
#include "reports/rank_report.h"
#include "reports/residency_report.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// "decode", "prefill" (the widest), "prefill 64", "encode" (likewise), "all".
bool wanted(const PlannedModel& planned, const Plan& plan, const std::string& phase) {
  const auto i = static_cast<std::size_t>(&plan - planned.plans.data());
  if (phase == "prefill") return i + 1 == planned.n_step_plans;
  if (phase == "encode") return i + 1 == planned.plans.size() && i >= planned.n_step_plans;
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

// Lower bounds of a plan's time, estimated or measured.
struct Bounds {
  PlanBounds bounds;
  bool measured = false;
};

Bounds bounds_of(const Graph& graph, const Plan& plan, const ProfiledPlan* profile) {
  if (!profile) return {.bounds = estimate_bounds(graph, plan)};
  PlanBounds bounds{.ns = profile->wall_ns};
  std::vector<double> longest;
  for (const PlanStep& step : plan.steps) {
    const ProfiledNode* node = profile->find(step.path);
    const double ns = node ? node->ns : 0;
    longest.push_back(step.split == Split::one ? ns : ns / plan.lanes);
    bounds.lane_ns += ns / plan.lanes;
  }
  bounds.critical_ns = critical_path_ns(graph, plan, longest);
  return {.bounds = bounds, .measured = true};
}

std::string bounds_text(const Graph& graph, const Plan& plan, const ProfiledPlan* profile) {
  const auto [b, measured] = bounds_of(graph, plan, profile);
  const PeakStage peak = peak_stage(plan);
  const auto tokens = std::ranges::find(plan.variables, "T", &Variable::name);
  const double per_token =
      tokens == plan.variables.end() ? 0 : plan.joins() / static_cast<double>(tokens->bound);
  const auto share = [&](double ns) { return b.ns > 0 ? 100 * ns / b.ns : 0; };
  return fmt::format(
      "arena {}, {} live at the peak (stage {}); {} joins per token\n"
      "critical path {}, work of a lane {}, {} {}: the critical path is {:.1f} % of it, lanes are "
      "busy {:.1f} % of it\n",
      human_bytes(plan.arena_bytes), human_bytes(peak.bytes), peak.stage, three_digits(per_token),
      human_ns(b.critical_ns), human_ns(b.lane_ns), measured ? "measured" : "estimated",
      human_ns(b.ns), share(b.critical_ns), share(b.lane_ns));
}

// Describes the work before the first token.
std::string start_text(const MemoryUse& use) {
  const std::int64_t own = use.weights_resident + use.weights_streamed;
  if (own == 0)
    return fmt::format("start: {} are used directly from the file\n",
                       human_bytes(use.weights_mapped));
  return fmt::format(
      "start: {} of new memory for weights, slow if a virtual machine must get it from its host\n",
      human_bytes(own));
}

std::string tuned_text(const PlannedModel& planned) {
  const std::vector<Tunable> tunables = tunables_of(planned);
  if (tunables.empty()) return "";
  std::string out;
  for (const Tunable& tunable : tunables) {
    const TunedValue* const tuned = cpu_backend_values().find(tunable.name);
    if (tuned && tuned->value != tunable.standard)
      out += fmt::format("  {}: {} ({:.2f} times the standard)\n", tunable.about, tuned->value,
                         tuned->gain);
  }
  if (!out.empty()) return "tuned for this machine:\n" + out;
  return cpu_backend_values().all().empty() ? "not tuned for this machine (weft tune)\n"
                                            : "tuned for this machine: the standard values\n";
}

std::string head_of(const Model& model, const MemoryOffer& offer) {
  const ModelFacts& facts = model.facts();
  const PlannedModel& planned = offer.planned;
  const SessionOptions& o = planned.options;
  const std::int64_t most_cells = round_up_to_blocks(o.context) * o.sequences;
  std::string out = fmt::format(
      "{}: {}, {} layers, {} parameters\n"
      "context {} x {} sequences{}, {} workers, backend {}, cache {}{}\n"
      "weights {}: {}\n\n{}",
      facts.name.empty() ? "model" : facts.name, facts.architecture, facts.n_layers, facts.n_params,
      o.context, o.sequences, o.cells < most_cells ? fmt::format(" in {} cells", o.cells) : "",
      o.workers, o.route.empty() ? o.backend : fmt::format("{} ({})", o.backend, o.route),
      o.cache_k.name(), o.cache_v == o.cache_k ? "" : fmt::format(" {}", o.cache_v.name()),
      to_string(o.weights), planned.weights_reason, planned.memory.to_text());
  if (offer.slots < o.sequences)
    out += fmt::format("{} slots, {} kept prompts\n", offer.slots, offer.n_kept);
  out += fmt::format("may use {}{}\n", human_bytes(o.mem_budget),
                     offer.concessions.empty() ? "" : ", hence these concessions:");
  for (const std::string& concession : offer.concessions) out += fmt::format("  {}\n", concession);
  return out + tuned_text(planned) + start_text(planned.memory) + to_text(model, planned);
}

std::string text_of(const Model& model, const MemoryOffer& offer, const std::string& phase,
                    const ProfileFile* profile, const std::string& profile_path) {
  const PlannedModel& planned = offer.planned;
  std::string out = head_of(model, offer);
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
  bool server = false;
  std::int32_t slots = 0;  // for --server; 0: not given
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

// The session that the flags ask for, or that of a server.
MemoryOffer offer_of(const Model& model, const Flags& flags) {
  const SessionOptions& session = flags.model.session;
  if (flags.server) {
    constexpr std::int32_t kSlots = 4;  // the default of weft serve
    return plan_memory(
        model,
        engine_demand(model, server_options(model, session, flags.slots > 0 ? flags.slots : kSlots,
                                            flags.slots > 0)));
  }
  MemoryOffer offer{.planned = plan_model(model, session), .slots = session.sequences};
  offer.concessions = offer.planned.concessions;
  return offer;
}

// Returns --server.
cli::Option add_size_flags(cli::App& app, Flags& flags) {
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
  app.add_option("--parallel", flags.slots,
                 "slots of the server (default: 4, fewer if the memory budget requires it)")
      .range(1, 1024)
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
    fail<cli::UsageError>("--json: the forecast of a model divided by --shard is text only");
}

void add_flags(cli::App& app, Flags& flags) {
  cli::add_model_flags(app, flags.model);
  const cli::Option server = add_size_flags(app, flags);
  cli::add_cells_flag(app, flags.model.session);
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

bench::RankForecast forecast_of(const Flags& flags, const Sharding& sharding, bool timed) {
  ModelOptions options = cli::model_options(flags.model);
  options.sharding = sharding;
  const bench::RankForecastOptions how{
      .link = flags.link, .seconds = timed ? 1.0 : 0.0, .cancel = &cli::interrupted()};
  return bench::forecast_ranks(flags.model.path, options, flags.model.session, how);
}

// Prints the ways to use some machines.
int print_hosts(const Flags& flags) {
  cli::catch_interrupts(cli::Interrupts::once);
  std::vector<bench::RankForecast> all;
  for (const Sharding& sharding : bench::shardings_of(flags.hosts))
    all.push_back(forecast_of(flags, sharding, true));
  std::cout << to_text(all, flags.link);
  const auto possible = [](const bench::RankForecast& f) { return f.refused.empty(); };
  return std::ranges::any_of(all, possible) ? 0 : cli::kError;
}

// Prints the plan, or the forecast in place of the details of the plan.
void print_forecast(const std::shared_ptr<const Model>& model, const Flags& flags,
                    const MemoryOffer& offer) {
  cli::catch_interrupts(cli::Interrupts::once);
  if (model->sharding().ranks() > 1) {
    std::cout << to_text(forecast_of(flags, model->sharding(), true), flags.link);
    return;
  }
  const bench::Forecast forecast =
      bench::forecast(model, flags.model.session, {.cancel = &cli::interrupted()});
  if (!flags.json) {
    std::cout << head_of(*model, offer) << to_text(forecast);
    return;
  }
  auto json = nlohmann::ordered_json::parse(to_json(*model, offer));
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
  if (flags.hosts > 0) return print_hosts(flags);
  cli::use_lone_rank(flags.model);
  const auto model = cli::load_inspected_model(flags.model);
  const Picture& picture = flags.picture;
  std::optional<ProfileFile> profile;
  if (!picture.profile.empty()) profile = read_profile(picture.profile, flags.model.session);
  const ProfileFile* measured = profile ? &*profile : nullptr;
  const MemoryOffer offer = offer_of(*model, flags);
  const PlannedModel& planned = offer.planned;
  check_phase(planned, flags.phase);
  if (!picture.out.empty()) {
    write_svg(*model, planned, flags.phase, picture, measured);
  } else if (flags.forecast) {
    print_forecast(model, flags, offer);
  } else if (flags.json) {
    std::cout << to_json(*model, offer);
  } else {
    if (model->sharding().ranks() > 1)
      std::cout << to_text(forecast_of(flags, model->sharding(), false), flags.link) << '\n'
                << "rank " << flags.model.rank << '\n';
    std::cout << text_of(*model, offer, flags.phase, measured, picture.profile);
  }
  return 0;
}

}  // namespace

const Subcommand kPlan{"plan", "shows how a model would run: order, memory, lanes, kernels", plan};

}  // namespace weft::tools
