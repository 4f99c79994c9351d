// The memory that an engine asks for.
#include <algorithm>
#include <utility>

#include "weft/base/error.h"

#include "embeddings/engine_embedders.h"
#include "engine/engine_impl.h"

namespace weft {
namespace {

// Rows of logits in a step, if it is wide enough; more than texts need, for logprobs of prompts.
constexpr std::int32_t kLogitsRows = 32;
constexpr std::int64_t kMinContext = 2048;  // when a server's contexts are shortened

}  // namespace

EngineOptions server_options(const Model& model, SessionOptions session, std::int32_t slots,
                             bool slots_given) {
  const std::int64_t all = session.context;
  session.context = all == 0 ? model.facts().context : std::max<std::int64_t>(all / slots, 1);
  EngineOptions options{.slots = slots, .session = std::move(session)};
  options.may_give_up = {.min_slots = slots_given ? 0 : 1,
                         .min_context = all == 0 ? kMinContext : 0,
                         .fixed_total = all > 0,
                         .share_cells = true};
  options.request_bytes = kRequestBytes;
  return options;
}

SessionOptions asked_session(const EngineOptions& o) {
  SessionOptions session = o.session;
  session.mem_budget = session_budget({.session = o.session, .used = o.used_bytes});
  return session;
}

MemoryDemand engine_demand(const Model& model, const EngineOptions& o) {
  if (o.slots < 1) fail<ValueError>("an engine needs at least 1 slot, got {}", o.slots);
  if (o.max_waiting < 0) fail<ValueError>("the queue cannot hold {} requests", o.max_waiting);
  if (o.prompt_tokens_per_step < 0)
    fail<ValueError>("a step cannot have {} tokens of prompts", o.prompt_tokens_per_step);
  MemoryDemand demand{.session = o.session,
                      .slots = o.slots,
                      .may_give_up = o.may_give_up,
                      .kept_bytes = model.facts().encodes ? 0 : o.kept_prompts_bytes,
                      .used = o.used_bytes,
                      .requests = o.request_bytes};
  SessionOptions& s = demand.session;
  if (model.facts().gives_text()) {
    s.logits_rows = std::min<std::int64_t>(std::max(o.slots, kLogitsRows), s.prefill_width);
    demand.drafts = draft_demand(model, o.speculation);
    return demand;
  }
  // It only gives embeddings, from another session.
  s.embeddings = true;
  s.context = s.prefill_width = s.logits_rows = 1;
  s.cells = 0;
  demand.may_give_up = {};
  demand.kept_bytes = 0;
  return demand;
}

MemoryOffer plan_engine(const Model& model, const EngineOptions& o) {
  MemoryOffer offer = plan_memory(model, engine_demand(model, o));
  if (model.facts().gives_text()) return offer;
  const SessionOptions asked = asked_session(o);
  const EmbedderOptions options =
      serve::embedder_beside(model, offer.planned.options, asked, {}, {{offer.planned.memory}});
  offer.planned = plan_model(model, embedder_session(model, options));
  offer.concessions = offer.planned.concessions;
  return offer;
}

}  // namespace weft
