#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/graph/error.h"
#include "weft/models/session.h"

#include "common/flags.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

// "decode", "prefill" (the widest), "prefill 64", "all".
bool wanted(const PlannedModel& planned, const Plan& plan, const std::string& phase) {
  const bool widest = &plan == &planned.plans.back();
  return phase == "all" || phase == plan.name || (phase == "prefill" && widest);
}

void check_phase(const PlannedModel& planned, const std::string& phase) {
  std::string names = "all, prefill";
  for (const Plan& plan : planned.plans) {
    if (wanted(planned, plan, phase)) return;
    names += ", " + plan.name;
  }
  fail<cli::UsageError>("--phase must be one of {}; got '{}'", names, phase);
}

void print_text(const Model& model, const PlannedModel& planned, const std::string& phase) {
  const ModelFacts& facts = model.facts();
  const SessionOptions& o = planned.options;
  std::cout << fmt::format(
      "{}: {}, {} layers, {} parameters\ncontext {} x {} sequences, {} workers, backend {}, cache "
      "{}{}\nweights {}: {}\n\n{}",
      facts.name.empty() ? "model" : facts.name, facts.architecture, facts.n_layers, facts.n_params,
      o.context, o.sequences, o.workers, o.backend, o.cache_k.name(),
      o.cache_v == o.cache_k ? "" : fmt::format(" {}", o.cache_v.name()), to_string(o.weights),
      planned.weights_reason, planned.memory.to_text());
  std::cout << fmt::format("may use {}{}\n", human_bytes(o.mem_budget),
                           planned.concessions.empty() ? "" : ", hence these concessions:");
  for (const std::string& concession : planned.concessions) std::cout << "  " << concession << '\n';
  for (const Plan& plan : planned.plans) {
    if (wanted(planned, plan, phase)) {
      std::cout << '\n' << plan.to_text();
    } else {
      std::cout << fmt::format("\nplan {}: {} steps, {} joins, arena {}, scratch {}\n", plan.name,
                               plan.steps.size(), plan.joins(), human_bytes(plan.arena_bytes),
                               human_bytes(plan.scratch_bytes));
    }
  }
}

void print_json(const Model& model, const PlannedModel& planned) {
  const MemoryUse& use = planned.memory;
  const SessionOptions& o = planned.options;
  Json plans = Json::array();
  for (const Plan& plan : planned.plans) plans.push_back(Json::parse(plan.to_json()));
  const Json json{{"architecture", model.facts().architecture},
                  {"context", o.context},
                  {"sequences", o.sequences},
                  {"workers", o.workers},
                  {"backend", o.backend},
                  {"weights",
                   {{"mode", to_string(o.weights)},
                    {"reason", planned.weights_reason},
                    {"dropped", planned.dropped}}},
                  {"memory",
                   {{"weights_mapped", use.weights_mapped},
                    {"weights_resident", use.weights_resident},
                    {"state", use.state},
                    {"arena", use.arena},
                    {"scratch", use.scratch},
                    {"other", use.other},
                    {"total", use.total()},
                    {"budget", o.mem_budget}}},
                  {"concessions", planned.concessions},
                  {"plans", std::move(plans)}};
  std::cout << json.dump(1) << '\n';
}

}  // namespace

int plan(int argc, char** argv) {
  CLI::App app("Prints what running a model would do and take, from the file's header alone.",
               "weft plan");
  cli::ModelFlags flags;
  std::string phase = "decode";
  bool json = false;
  cli::add_model_flags(app, flags);
  app.add_option("--sequences", flags.session.sequences, "conversations with a cache of their own")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  app.add_option("--phase", phase,
                 "which plan to show in full: decode, prefill (the widest), 'prefill 8', all")
      ->type_name("NAME");
  app.add_flag("--json", json, "print everything as one JSON object");
  app.footer(
      "Examples:\n"
      "  weft plan -m model.gguf -c 8192\n"
      "  weft plan -m model.gguf --mem-budget 2G --phase prefill\n"
      "  weft plan -m model.gguf --json | jq .memory");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  const PlannedModel planned = plan_model(*model, flags.session);
  check_phase(planned, phase);
  json ? print_json(*model, planned) : print_text(*model, planned, phase);
  return 0;
}

}  // namespace weft::tools
