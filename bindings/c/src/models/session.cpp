#include "weft/run/session.h"

#include "weft/run/session_knobs.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "border/objects.h"
#include "border/options.h"
#include "models/generation.h"

namespace weft::c_api {
namespace {

std::int64_t row_width(const Session& session) {
  const ModelFacts& facts = session.model().facts();
  return session.options().embeddings ? facts.n_embd : facts.n_vocab;
}

Json memory_json(const Session& session) {
  Json memory = Json::object();
  for (const MemoryUse::Named& line : session.memory().lines()) memory[line.name] = line.bytes;
  return memory;
}

Json stream_json(const StreamStats& stats) {
  const StreamStats::Group experts = stats.all_groups();
  return {{"reader", stats.reader},
          {"bytes_read", stats.bytes_read},
          {"wait_ns", stats.total_wait_ns()},
          {"experts_in_memory", experts.hits},
          {"experts_missing", experts.misses}};
}

std::string session_json(const Session& session) {
  Json json = Json::parse(to_json(session.options()));
  json["allocated_bytes"] = session.allocated_bytes();
  json["memory"] = memory_json(session);
  json["concessions"] = session.concessions();
  if (!session.residency().empty()) json["stream"] = stream_json(session.stream_stats());
  return json_text(json);
}

// A cancelled feed() throws CancelledError: "cancelled" is the flag of the gate.
void feed(const UsedSession& session, std::int32_t sequence, std::span<const weft_token> tokens,
          weft_token_progress progress, void* user) {
  session->feed(sequence, tokens, &session.cancelled(),
                token_progress_of(progress, user, session.cancelled()));
  mark_warm();
}

// The step's tokens as C++ has them.
std::vector<StepToken> step_tokens(const weft_step_token* tokens, std::size_t n,
                                   const Session& session) {
  const std::int64_t widest = session.options().prefill_width;
  if (n > static_cast<std::size_t>(widest))
    fail<ValueError>("a step has at most {} tokens (prefill_width), got {}", widest, n);
  std::vector<StepToken> step;
  step.reserve(n);
  for (const weft_step_token& t : array(tokens, n, "tokens"))
    step.push_back({t.token, t.sequence, is_set(t.logits, "logits"), t.type});
  return step;
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_session_open(weft_model* model, const weft_session_options* options,
                              weft_session** session, weft_error** error) {
  return call(error, [&] {
    required(session, "session");
    CancellableCall running;
    SessionOptions how = session_options(options);
    how.progress = running.watch(how.progress);
    *session =
        handle_of<weft_session>(std::make_shared<SessionObject>(pin<ModelObject>(model), how));
  });
}

weft_status weft_session_share(weft_session* session, weft_session** other, weft_error** error) {
  return call(error, [&] {
    required(other, "other");
    *other = handle_of<weft_session>(pin<SessionObject>(session));
  });
}

weft_status weft_session_cancel(weft_session* session) {
  return call(nullptr, [&] { pin<SessionObject>(session)->gate.cancel(); });
}

weft_status weft_session_free(weft_session* session) {
  return free_handle<SessionObject>(session);
}

weft_status weft_session_get_info(weft_session* session, weft_session_info* info,
                                  weft_error** error) {
  return call(error, [&] {
    const auto s = pin<SessionObject>(session);
    const SessionOptions& o = s->session.options();
    write_struct(info,
                 weft_session_info{.sequences = o.sequences,
                                   .context = o.context,
                                   .prefill_width = o.prefill_width,
                                   .logits_rows = o.logits_rows,
                                   .row_width = row_width(s->session),
                                   .allocated_bytes = s->session.allocated_bytes(),
                                   .workers = o.workers,
                                   .embeddings = o.embeddings},
                 "weft_session_info");
  });
}

weft_status weft_session_json(weft_session* session, weft_text* json, weft_error** error) {
  return call(error, [&] { write_text(json, session_json(*UsedSession(session))); });
}

weft_status weft_session_feed(weft_session* session, int32_t sequence, const weft_token* tokens,
                              size_t n, weft_token_progress progress, void* user,
                              weft_error** error) {
  return call(error, [&] {
    feed(UsedSession(session), sequence, array(tokens, n, "tokens"), progress, user);
  });
}

weft_status weft_session_step(weft_session* session, const weft_step_token* tokens, size_t n,
                              float** rows, size_t* n_rows, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    const std::span<const float> all = s->step(step_tokens(tokens, n, *s), &s.cancelled());
    mark_warm();
    if (rows) *rows = const_cast<float*>(all.data());
    if (n_rows) *n_rows = all.size() / static_cast<std::size_t>(row_width(*s));
  });
}

weft_status weft_session_get_logits(weft_session* session, float** logits, size_t* n,
                                    weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    const std::span<const float> row = s->logits();
    required(logits, "logits") = const_cast<float*>(row.data());
    if (n) *n = row.size();
  });
}

weft_status weft_session_encode(weft_session* session, int32_t sequence, const weft_token* tokens,
                                size_t n, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    s->encode(sequence, array(tokens, n, "tokens"), &s.cancelled());
  });
}

weft_status weft_session_get_length(weft_session* session, int32_t sequence, int64_t* length,
                                    weft_error** error) {
  return call(error, [&] { required(length, "length") = UsedSession(session)->length(sequence); });
}

weft_status weft_session_get_tokens(weft_session* session, int32_t sequence,
                                    const weft_token** tokens, size_t* n, weft_error** error) {
  return call(error,
              [&] { give(UsedSession(session)->tokens(sequence), tokens, n, "tokens", "n"); });
}

weft_status weft_session_get_common_prefix(weft_session* session, int32_t sequence,
                                           const weft_token* tokens, size_t n, size_t* n_common,
                                           weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    required(n_common, "n_common") =
        static_cast<size_t>(s->common_prefix(sequence, array(tokens, n, "tokens")));
  });
}

weft_status weft_session_match(weft_session* session, const weft_token* tokens, size_t n,
                               int32_t* sequence, int64_t* length, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    const auto wanted = array(tokens, n, "tokens");
    required(sequence, "sequence") = -1;
    required(length, "length") = 0;
    if (wanted.empty()) return;
    for (std::int32_t i = 0; i < s->options().sequences; ++i) {
      const std::int64_t common = s->common_prefix(i, wanted.first(wanted.size() - 1));
      const std::int64_t usable = s->resume_point(i, common);
      if (usable > *length) *sequence = i, *length = usable;
    }
  });
}

weft_status weft_session_truncate(weft_session* session, int32_t sequence, int64_t length,
                                  weft_error** error) {
  return call(error, [&] { UsedSession(session)->truncate(sequence, length); });
}

weft_status weft_session_get_resume_point(weft_session* session, int32_t sequence, int64_t length,
                                          int64_t* resume_point, weft_error** error) {
  return call(error, [&] {
    required(resume_point, "resume_point") = UsedSession(session)->resume_point(sequence, length);
  });
}

weft_status weft_session_copy(weft_session* session, int32_t from, int32_t to, int64_t length,
                              weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    if (length == -1) set_guesses_aside(*s.object(), from);
    s->copy(from, to, length == -1 ? s->length(from) : length);
  });
}

weft_status weft_session_set_lora_scales(weft_session* session, int32_t sequence,
                                         const float* scales, size_t n, weft_error** error) {
  return call(error,
              [&] { UsedSession(session)->set_lora_scales(sequence, array(scales, n, "scales")); });
}

weft_status weft_session_get_lora_scales(weft_session* session, int32_t sequence,
                                         const float** scales, size_t* n, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    give(s->lora_scales(sequence), scales, n, "scales", "n");
  });
}
