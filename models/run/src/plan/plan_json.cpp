#include "weft/run/plan_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "weft/run/model.h"
#include "weft/run/session_knobs.h"
#include "weft/scheduler/timeline.h"
#include "weft/scheduler/workers.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json tuned_json(const PlannedModel& planned) {
  Json list = Json::array();
  for (const Tunable& tunable : tunables_of(planned)) {
    if (const TunedValue* const tuned = cpu_backend_values().find(tunable.name)) {
      list.push_back({{"name", tunable.name},
                      {"standard", tunable.standard},
                      {"value", tuned->value},
                      {"gain", tuned->gain}});
    }
  }
  return list;
}

Json memory_json(const MemoryUse& use, std::int64_t budget) {
  return {{"weights_mapped", use.weights_mapped},
          {"weights_resident", use.weights_resident},
          {"weights_streamed", use.weights_streamed},
          {"state", use.state},
          {"arena", use.arena},
          {"scratch", use.scratch},
          {"program", use.program},
          {"other", use.other},
          {"device", use.device},
          {"total", use.total()},
          {"budget", budget}};
}

Json residency_json(const Model& model, const PlannedModel& planned) {
  const Residency& r = planned.residency;
  Json tensors = Json::array(), groups = Json::array(), slots = Json::array();
  for (const PlacedTensor& t : placed_tensors(model, planned))
    tensors.push_back({{"name", t.name},
                       {"type", t.dtype.name()},
                       {"bytes", t.bytes},
                       {"place", to_string(t.place)}});
  for (const ExpertGroup& g : r.groups)
    groups.push_back({{"weights", g.paths},
                      {"experts", g.n_experts},
                      {"chosen", g.n_chosen},
                      {"expert_bytes", g.expert_bytes},
                      {"slots", g.slots}});
  for (const SlotClass& c : r.slots)
    slots.push_back({{"bytes", c.slot_bytes},
                     {"slots", c.n_slots},
                     {"min_slots", c.min_slots},
                     {"experts", c.n_experts}});
  return {{"ring_bytes", r.ring_bytes},       {"streamed_bytes", r.streamed_bytes()},
          {"cached_share", r.cached_share()}, {"groups", std::move(groups)},
          {"slots", std::move(slots)},        {"tensors", std::move(tensors)}};
}

Json lines_json(const MemoryUse& use) {
  Json lines = Json::array();
  for (const MemoryUse::Named& line : use.lines())
    lines.push_back({{"name", line.name}, {"bytes", line.bytes}});
  return lines;
}

Json drafts_json(const DraftOffer& drafts) {
  Json json{{"guess_bytes", drafts.guess_bytes}, {"left_out", drafts.left_out}, {"model", nullptr}};
  if (drafts.session)
    json["model"] = {{"context", drafts.session->options.context},
                     {"sequences", drafts.session->options.sequences},
                     {"weights", to_string(drafts.session->options.weights)},
                     {"concessions", drafts.session->concessions}};
  return json;
}

Json plans_json(const PlannedModel& planned) {
  Json plans = Json::array();
  for (std::size_t i = 0; i < planned.plans.size(); ++i) {
    const Plan& plan = planned.plans[i];
    Json json = Json::parse(plan.to_json());
    const PlanBounds bounds = estimate_bounds(planned.graphs[i], plan);
    json["executor"] = {{"kind", to_string(plan.replay)}, {"reason", plan.replay_reason}};
    json["critical_path_ns"] = bounds.critical_ns;
    json["work_per_lane_ns"] = bounds.lane_ns;
    plans.push_back(std::move(json));
  }
  return plans;
}

}  // namespace

std::vector<Tunable> tunables_of(const PlannedModel& planned) {
  std::vector<DType> types;
  for (const Graph& graph : planned.graphs) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      const DType type = graph[id].spec.dtype;
      if (graph[id].kind == NodeKind::weight && type.layout() != nullptr)
        types.push_back(type.plain());
    }
  }
  std::vector<Tunable> tunables;
  if (types.empty() || cpu_backend_isa().empty()) return tunables;
  tunables = cpu_tunables(cpu_backend_isa());
  std::erase_if(tunables,
                [&](const Tunable& c) { return std::ranges::count(types, c.weights) == 0; });
  return tunables;
}

std::string to_json(const Model& model, const MemoryOffer& offer) {
  const PlannedModel& planned = offer.planned;
  const SessionOptions& o = planned.options;
  const Json json{{"architecture", model.facts().architecture},
                  {"context", o.context},
                  {"sequences", o.sequences},
                  {"slots", offer.slots},
                  {"cells", o.cells},
                  {"kept", o.kept},
                  {"kept_tokens", o.kept_tokens},
                  {"workers", o.workers},
                  {"workers_reason", choose_workers(o.workers).reason},
                  {"backend", o.backend},
                  {"route", o.route},
                  {"options", Json::parse(to_json(o))},
                  {"weights",
                   {{"mode", to_string(o.weights)},
                    {"reason", planned.weights_reason},
                    {"dropped", planned.evicted_bytes}}},
                  {"residency", residency_json(model, planned)},
                  {"memory", memory_json(offer.memory(), o.mem_budget)},
                  {"memory_lines", lines_json(offer.memory())},
                  {"drafts", drafts_json(offer.drafts)},
                  {"tuned", tuned_json(planned)},
                  {"concessions", offer.concessions},
                  {"warnings", model.warnings()},
                  {"plans", plans_json(planned)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace weft
