#include "page_state.h"

#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "weft/base/json_string.h"
#include "weft/draw/picture.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/operations.h"
#include "weft/run/session.h"

namespace weft::server {
namespace {

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
                     json_string(slot.why_not_reused));
}

std::string memory_json(const MemoryUse& m) {
  return fmt::format(
      R"({{"weights_mapped":{},"weights_resident":{},"weights_streamed":{},"state":{},"arena":{},"scratch":{},"program":{},"other":{},"device":{}}})",
      m.weights_mapped, m.weights_resident, m.weights_streamed, m.state, m.arena, m.scratch,
      m.program, m.other, m.device);
}

std::string model_json(const PooledModel& model, std::string_view viewer) {
  const ModelFacts& facts = model.served->model->facts();
  const Engine& engine = *model.served->engine;
  const auto slot_seen = [&](const SlotState& slot) { return slot_json(slot.seen_by(viewer)); };
  return fmt::format(
      R"({{"name":{},"architecture":{},"parameters":{},"layers":{},"context":{},"memory":{},"slots":{}}})",
      json_string(model.name), json_string(facts.architecture), facts.n_params, facts.n_layers,
      engine.context(), memory_json(engine.memory()), json_list(engine.state().slots, slot_seen));
}

std::string counters_json(const PoolCounters& pool) {
  const EngineCounters& e = pool.engines;
  return fmt::format(
      R"({{"requests":{},"cancelled":{},"prompt_tokens":{},"cached_tokens":{},"new_tokens":{},"running":{},"waiting":{}}})",
      e.requests, e.cancelled, e.prompt_tokens, e.prompt_tokens_reused, e.new_tokens,
      pool.n_running, pool.n_waiting);
}

std::string box_json(const draw::PictureBox& box) {
  const auto line = [](const draw::PictureLine& l) { return json_string(l.text); };
  return fmt::format(R"({{"name":{},"title":{},"cluster":{},"tooltip":{},"lines":{}}})",
                     json_string(box.name), json_string(box.title), box.cluster,
                     json_string(box.tooltip), json_list(box.lines, line));
}

std::string edge_json(const draw::PictureEdge& edge) {
  const bool back = edge.upwards || edge.kind == draw::PictureEdge::Kind::next_layer;
  return fmt::format(R"({{"from":{},"to":{},"label":{},"upwards":{}}})", json_string(edge.from),
                     json_string(edge.to), json_string(edge.label), back);
}

}  // namespace

std::string state_json(const Operations& operations, std::string_view viewer) {
  const auto model_seen = [&](const PooledModel& model) { return model_json(model, viewer); };
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  return fmt::format(
      R"({{"state":{},"time":{:.3f},"resident_bytes":{},"memory_budget":{},"counters":{},"models":{}}})",
      json_string(health_of(operations)), now, resident_bytes(), operations.memory_budget,
      counters_json(operations.pool.counters()), json_list(operations.pool.loaded(), model_seen));
}

std::string graph_json(const Model& model, const SessionOptions& options) {
  SessionOptions planned_options = options;
  planned_options.mem_budget = std::numeric_limits<std::int64_t>::max();  // only looked at
  const PlannedModel planned = plan_model(model, planned_options);
  const Graph& graph = planned.graphs.front();
  draw::PictureOptions drawn;
  drawn.title = model.facts().name;
  const draw::Picture picture = draw::picture_of(graph, drawn);
  const auto cluster = [](const draw::PictureCluster& c) {
    return fmt::format(R"({{"label":{}}})", json_string(c.label));
  };
  return fmt::format(R"({{"title":{},"facts":{},"clusters":{},"boxes":{},"edges":{}}})",
                     json_string(picture.title), json_string(picture.facts),
                     json_list(picture.clusters, cluster), json_list(picture.boxes, box_json),
                     json_list(picture.edges, edge_json));
}

}  // namespace weft::server
