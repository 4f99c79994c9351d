#include <nlohmann/json.hpp>

#include "weft/scheduler/plan.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cost& cost) {
  return {{"bytes_read", cost.bytes_read},
          {"bytes_written", cost.bytes_written},
          {"multiply_adds", cost.multiply_adds}};
}

Json json_of(const std::vector<std::vector<ColRange>>& parts) {
  Json json = Json::array();
  for (const auto& cols : parts) {
    Json ranges = Json::array();
    for (const ColRange& r : cols) ranges.push_back({r.begin, r.end});
    json.push_back(std::move(ranges));
  }
  return json;
}

Json json_of(const PlanStep& step) {
  Json json{{"node", step.node},
            {"path", step.path},
            {"op", step.op},
            {"backend", step.backend},
            {"kernel", step.kernel},
            {"stage", step.stage},
            {"split", to_string(step.split)}};
  if (!step.instead_of.empty()) json["instead_of"] = step.instead_of;
  if (step.split == Split::one) json["lane"] = step.lane;
  if (step.split == Split::cols) json["cols"] = json_of(step.cols);
  if (!step.parts.empty()) json["parts"] = json_of(step.parts);
  json["cost"] = json_of(step.cost);
  return json;
}

Json json_of(const Placement& p) {
  Json json{{"place", to_string(p.place)}, {"root", p.root},
            {"offset", p.offset},          {"bytes", p.bytes},
            {"copies", p.copies},          {"first_stage", p.first_stage},
            {"last_stage", p.last_stage}};
  // 0 is the host, i + 1 device i; the bits of weight_in are in the same order.
  if (is_device(p.memory)) json["memory"] = device_index(p.memory) + 1;
  if (p.weight_in.any_device()) json["weight_in"] = p.weight_in.bits();
  if (p.in_place_over != kNoNode) json["in_place_over"] = p.in_place_over;
  return json;
}

}  // namespace

std::string Plan::to_json() const {
  Json json{{"name", name},
            {"lanes", lanes},
            {"stages", stages},
            {"joins", joins()},
            {"shares", shares},
            {"calls", calls()},
            {"predicted_ns", predicted_ns}};
  Json& vars = json["variables"] = Json::object();
  for (const Variable& v : variables) vars[v.name] = v.bound;
  json["bytes"] = {{"arena", arena_bytes},
                   {"arena_lower_bound", arena_lower_bound},
                   {"scratch", scratch_bytes},
                   {"weights", weight_bytes},
                   {"state", state_bytes}};
  for (const PlanDevice& d : devices) {
    json["devices"].push_back({{"backend", d.backend},
                               {"arena", d.arena_bytes},
                               {"arena_lower_bound", d.arena_lower_bound},
                               {"scratch", d.scratch_bytes},
                               {"weights", d.weight_bytes},
                               {"state", d.state_bytes},
                               {"bytes_in", d.bytes_in},
                               {"bytes_out", d.bytes_out}});
  }
  json["arena_heuristic"] = arena_heuristic;
  json["cost"] = json_of(cost());
  Json& all_steps = json["steps"] = Json::array();
  for (const PlanStep& step : steps) all_steps.push_back(json_of(step));
  Json& all_placements = json["placements"] = Json::array();
  for (const Placement& p : placements) all_placements.push_back(json_of(p));
  return json.dump();
}

}  // namespace weft
