// Plans of sessions and models: as JSON, as pictures, and measured.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/measure/profile_times.h"
#include "weft/measure/work.h"
#include "weft/run/memory_plan.h"
#include "weft/run/session.h"
#include "weft/scheduler/picture_notes.h"
#include "weft/scheduler/plan_svg.h"
#include "weft/scheduler/profiler.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "border/objects.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

std::size_t plan_index(const Session& session, std::int64_t n_tokens,
                       std::string_view name = "n_tokens") {
  check_between(n_tokens, 1, session.options().prefill_width, name);
  return session.plan_for(n_tokens);
}

std::string dot_of(const Model& model, const Graph& graph, const Plan& plan) {
  return plan_dot(graph, plan, fmt::format("{}, {}", model.facts().title(), plan.name));
}

std::string svg_of(const Session& session, std::size_t i, const TimedStep* measured = nullptr) {
  const Plan& plan = session.plan(i);
  return plan_svg(session.graph(i), plan,
                  {.title = fmt::format("{}, plan {}", session.model().facts().title(), plan.name),
                   .measured = measured});
}

// One step of a session, watched.
class MeasuredStep {
 public:
  MeasuredStep(const UsedSession& session, std::int32_t sequence,
               std::span<const weft_token> tokens)
      : session_(*session),
        depth_(session->length(sequence)),
        n_tokens_(std::ssize(tokens)),
        plan_(plan_index(*session, n_tokens_, "n")),
        profiler_(session->options().workers,
                  static_cast<std::size_t>(session_.plan(plan_).calls())) {
    std::vector<StepToken> step;
    for (const weft_token token : tokens) step.push_back({token, sequence});
    step.back().logits = true;
    begin_ns_ = profiler_.now_ns();
    session->step(step, &session.cancelled(), &profiler_);
    end_ns_ = profiler_.now_ns();
    mark_warm();
  }

  std::string json() const {
    const Plan& plan = session_.plan(plan_);
    Json nodes = Json::array();
    std::vector<double> ns(plan.steps.size());
    for (int w = 0; w < profiler_.workers(); ++w) {
      for (const ProfiledCall& call : profiler_.calls(w))
        ns[find_step(session_, call.step).step] += static_cast<double>(call.ns());
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep& step = plan.steps[i];
      const bench::Work work =
          bench::work_of_node(session_.graph(plan_), step.node, depth_, n_tokens_);
      nodes.push_back({{"path", step.path},
                       {"op", step.op},
                       {"kernel", step.kernel},
                       {"backend", step.backend},
                       {"stage", step.stage},
                       {"ns", ns[i]},
                       {"bytes", work.bytes()},
                       {"multiply_adds", work.multiply_adds}});
    }
    return json_text({{"plan", plan.name},
                      {"n_tokens", n_tokens_},
                      {"depth", depth_},
                      {"workers", profiler_.workers()},
                      {"ns", end_ns_ - begin_ns_},
                      {"nodes", std::move(nodes)}});
  }

  std::string svg() const {
    TimedStep measured{.ns = static_cast<double>(end_ns_ - begin_ns_), .calls = {}};
    const auto since = [&](std::int64_t ns) { return static_cast<double>(ns - begin_ns_); };
    for (int w = 0; w < profiler_.workers(); ++w) {
      for (const ProfiledCall& call : profiler_.calls(w))
        measured.calls.push_back(
            {call.step->path, w, call.step->stage, since(call.begin_ns), since(call.end_ns)});
    }
    return svg_of(session_, plan_, &measured);
  }

 private:
  const Session& session_;
  const std::int64_t depth_, n_tokens_;
  const std::size_t plan_;
  Profiler profiler_;
  std::int64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_session_plan_json(weft_session* session, int64_t n_tokens, weft_text* json,
                                   weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    write_text(json, s->plan(plan_index(*s, n_tokens)).to_json());
  });
}

weft_status weft_session_get_plan_hash(weft_session* session, int64_t n_tokens, uint64_t* hash,
                                       weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    required(hash, "hash") = s->plan(plan_index(*s, n_tokens)).hash();
  });
}

weft_status weft_session_dot(weft_session* session, int64_t n_tokens, weft_text* dot,
                             weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    const std::size_t i = plan_index(*s, n_tokens);
    write_text(dot, dot_of(s->model(), s->graph(i), s->plan(i)));
  });
}

weft_status weft_session_plan_svg(weft_session* session, int64_t n_tokens, weft_text* svg,
                                  weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    write_text(svg, svg_of(*s, plan_index(*s, n_tokens)));
  });
}

weft_status weft_session_profile(weft_session* session, int32_t sequence, const weft_token* tokens,
                                 size_t n, weft_text* json, weft_text* svg, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    required(json, "json");
    const auto ids = array(tokens, n, "tokens");
    const MeasuredStep step(s, sequence, ids);
    std::string picture = svg ? step.svg() : std::string();
    write_text(json, step.json());
    if (svg) write_text(svg, picture);
  });
}

weft_status weft_model_dot(weft_model* model, const weft_session_options* options, int64_t n_tokens,
                           weft_text* dot, weft_error** error) {
  return call(error, [&] {
    required(dot, "dot");
    const auto m = pin<ModelObject>(model)->computing();
    SessionOptions how = session_options(options);
    if (!options) how.embeddings = !m->facts().has_output;
    const PlannedModel planned = plan_to_look_at(*m, std::move(how));
    check_between(n_tokens, 1, planned.options.prefill_width, "n_tokens");
    const std::size_t i = planned.plan_for(n_tokens);
    write_text(dot, dot_of(*m, planned.graphs[i], planned.plans[i]));
  });
}
