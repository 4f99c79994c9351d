#include "weft/measure/profile_times.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/measure/work.h"
#include "weft/scheduler/plan.h"

namespace weft {

std::string to_json(const ProfileFile& profile) {
  using Json = nlohmann::ordered_json;
  Json plans = Json::array();
  for (const ProfiledPlan& plan : profile.plans) {
    Json nodes = Json::array();
    for (const ProfiledNode& node : plan.nodes)
      nodes.push_back(
          {{"path", node.path}, {"kernel", node.kernel}, {"ns", node.ns}, {"bytes", node.bytes}});
    plans.push_back({{"name", plan.name},
                     {"signature", plan.signature},
                     {"steps", plan.steps},
                     {"wall_ns", plan.wall_ns},
                     {"nodes", std::move(nodes)}});
  }
  const Json json{{"model", profile.model},     {"weights", profile.weights},
                  {"backend", profile.backend}, {"route", profile.route},
                  {"isa", profile.isa},         {"context", profile.context},
                  {"workers", profile.workers}, {"plans", std::move(plans)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cpu_isa_name() {
  const std::string own = cpu_backend().description();
  for (const std::string_view name : cpu_isas()) {
    if (cpu_backend(name).description() == own) return std::string(name);
  }
  return {};
}

PlaceOfStep find_step(const Session& session, const PlanStep* step) {
  for (std::size_t i = 0; i < session.n_plans(); ++i) {
    const std::vector<PlanStep>& steps = session.plan(i).steps;
    if (step >= steps.data() && step < steps.data() + steps.size())
      return {i, static_cast<std::size_t>(step - steps.data())};
  }
  fail<Error>("the call belongs to no plan of the session");
}

PlanTimes::PlanTimes(const Session& session) : session_(session) {
  for (std::size_t i = 0; i < session.n_plans(); ++i) {
    const Plan& plan = session.plan(i);
    plans_.push_back({plan.name, plan_signature(session.graph(i), plan), 0, 0, {}});
    for (const PlanStep& step : plan.steps)
      plans_.back().nodes.push_back({step.path, step.kernel, 0, 0});
  }
}

void PlanTimes::add(const Profiler& profiler, std::span<const ProfiledStep> steps) {
  for (int w = 0; w < profiler.workers(); ++w) {
    for (const ProfiledCall& call : profiler.calls(w)) {
      const PlaceOfStep at = find_step(session_, call.step);
      plans_[at.plan].nodes[at.step].ns += static_cast<double>(call.ns());
    }
  }
  for (const ProfiledStep& step : steps) {
    const std::size_t at = session_.plan_for(step.n_tokens);
    ProfiledPlan& plan = plans_[at];
    ++plan.steps;
    plan.wall_ns += step.ns();
    const std::vector<PlanStep>& planned = session_.plan(at).steps;
    for (std::size_t s = 0; s < planned.size(); ++s) {
      plan.nodes[s].bytes +=
          bench::work_of_node(session_.graph(at), planned[s].node, step.depth, step.n_tokens)
              .bytes();
    }
  }
}

ProfileFile PlanTimes::file() const {
  const SessionOptions& o = session_.options();
  ProfileFile file{.model = session_.model().facts().name,
                   .weights = std::string(to_string(o.weights)),
                   .backend = o.backend,
                   .route = o.route,
                   .isa = cpu_isa_name(),
                   .context = o.context,
                   .workers = o.workers,
                   .plans = {}};
  for (ProfiledPlan plan : plans_) {
    if (plan.steps == 0) continue;
    const auto n = static_cast<double>(plan.steps);
    plan.wall_ns /= n;
    for (ProfiledNode& node : plan.nodes) node.ns /= n, node.bytes /= n;
    file.plans.push_back(std::move(plan));
  }
  return file;
}

}  // namespace weft
