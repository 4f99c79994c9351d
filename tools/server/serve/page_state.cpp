#include "serve/page_state.h"

#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "weft/graph/picture.h"
#include "weft/run/session.h"

#include "api/json.h"
#include "serve/model_pool.h"
#include "serve/operations.h"

namespace weft::server {
namespace {

using api::literal;

// f(item) of each item, separated by commas, in brackets.
template <class Items, class F>
std::string json_list(const Items& items, const F& f) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    json += f(item);
  }
  return json + ']';
}

std::string slot_json(const SlotState& slot) {
  return fmt::format(R"({{"id":{},"busy":{},"held":{},"prompt":{},"new":{},"why_not_reused":{}}})",
                     slot.slot, slot.busy, slot.n_held, slot.n_prompt, slot.n_new,
                     literal(slot.why_not_reused));
}

std::string memory_json(const MemoryUse& m) {
  return fmt::format(
      R"({{"weights_mapped":{},"weights_resident":{},"state":{},"arena":{},"scratch":{},"other":{},"device":{}}})",
      m.weights_mapped, m.weights_resident, m.state, m.arena, m.scratch, m.other, m.device);
}

std::string model_json(const PooledModel& model) {
  const ModelFacts& facts = model.served->model->facts();
  const Engine& engine = *model.served->engine;
  return fmt::format(
      R"({{"name":{},"architecture":{},"parameters":{},"layers":{},"context":{},"memory":{},"slots":{}}})",
      literal(model.name), literal(facts.architecture), facts.n_params, facts.n_layers,
      engine.context(), memory_json(engine.memory()), json_list(engine.state().slots, slot_json));
}

std::string counters_json(const PoolCounters& pool) {
  const EngineCounters& e = pool.engines;
  return fmt::format(
      R"({{"requests":{},"cancelled":{},"prompt_tokens":{},"cached_tokens":{},"new_tokens":{},"running":{},"waiting":{}}})",
      e.requests, e.cancelled, e.prompt_tokens, e.prompt_tokens_reused, e.new_tokens,
      pool.n_running, pool.n_waiting);
}

std::string box_json(const PictureBox& box) {
  const auto line = [](const PictureLine& l) { return literal(l.text); };
  return fmt::format(R"({{"name":{},"title":{},"cluster":{},"tooltip":{},"lines":{}}})",
                     literal(box.name), literal(box.title), box.cluster, literal(box.tooltip),
                     json_list(box.lines, line));
}

std::string edge_json(const PictureEdge& edge) {
  const bool back = edge.upwards || edge.kind == PictureEdge::Kind::next_layer;
  return fmt::format(R"({{"from":{},"to":{},"label":{},"upwards":{}}})", literal(edge.from),
                     literal(edge.to), literal(edge.label), back);
}

}  // namespace

std::string state_json(const Operations& operations) {
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  return fmt::format(
      R"({{"state":{},"time":{:.3f},"resident_bytes":{},"memory_budget":{},"counters":{},"models":{}}})",
      literal(health_of(operations)), now, resident_bytes(), operations.memory_budget,
      counters_json(operations.pool.counters()), json_list(operations.pool.loaded(), model_json));
}

std::string graph_json(const Model& model, const SessionOptions& options) {
  SessionOptions planned_options = options;
  planned_options.mem_budget = std::numeric_limits<std::int64_t>::max();  // only looked at
  const PlannedModel planned = plan_model(model, planned_options);
  const Graph& graph = planned.graphs.front();
  PictureOptions drawn;
  drawn.title = model.facts().name;
  const Picture picture = picture_of(graph, drawn);
  const auto cluster = [](const PictureCluster& c) {
    return fmt::format(R"({{"label":{}}})", literal(c.label));
  };
  return fmt::format(R"({{"title":{},"facts":{},"clusters":{},"boxes":{},"edges":{}}})",
                     literal(picture.title), literal(picture.facts),
                     json_list(picture.clusters, cluster), json_list(picture.boxes, box_json),
                     json_list(picture.edges, edge_json));
}

}  // namespace weft::server
