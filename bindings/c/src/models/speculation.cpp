#include "models/speculation.h"

#include <algorithm>

#include "weft/serve/speculation_knobs.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

weft_speculation_options default_speculation_options() {
  const SpeculationOptions d;
  return {.struct_size = sizeof(weft_speculation_options),
          .n_max = static_cast<std::int32_t>(d.max_guesses),
          .p_min = d.p_min,
          .ngram_size_n = static_cast<std::int32_t>(d.ngram_size),
          .adaptive = d.adaptive};
}

// Names as of --spec-type.
std::vector<DraftKind> kinds_of(const weft_speculation_options& o, const Session& session) {
  if (o.type) return draft_kinds_in(o.type);
  const auto kind = default_draft(o.draft_model != nullptr, session.options().draft_layer,
                                  session.model().facts());
  return {kind.value_or(DraftKind::ngram_simple)};
}

SessionOptions draft_session(const weft_session_options* given, const UsedSession& session) {
  SessionOptions how = given ? session_options(given) : draft_session_like(session->options());
  how.progress = [inner = how.progress, cancelled = &session.cancelled()](double share) {
    return !*cancelled && (!inner || inner(share));
  };
  return how;
}

SpeculationOptions speculation_options(const weft_speculation_options* given,
                                       const UsedSession& session) {
  const auto o = read_options(given, default_speculation_options(), "weft_speculation_options");
  check_reserved(o.reserved, "weft_speculation_options");
  check_option<SpeculationOptions>("n_max", o.n_max);
  check_option<SpeculationOptions>("ngram_size_n", o.ngram_size_n);
  SpeculationOptions options{.kinds = kinds_of(o, *session),
                             .max_guesses = static_cast<std::size_t>(o.n_max),
                             .p_min = o.p_min,
                             .ngram_size = static_cast<std::size_t>(o.ngram_size_n),
                             .adaptive = is_set(o.adaptive, "adaptive"),
                             .draft_session = draft_session(o.draft_session, session)};
  if (o.draft_model) options.draft_model = pin<ModelObject>(o.draft_model)->computing();
  if (o.log)
    options.warn = [log = o.log, user = o.log_user](const std::string& line) {
      log_to(log, user, line);
    };
  return options;
}

std::string names_of(std::span<const DraftKind> kinds) {
  std::string names;
  for (const DraftKind kind : kinds) {
    if (!names.empty()) names += ',';
    names += to_string(kind);
  }
  return names;
}

}  // namespace

SpeculationObject::SpeculationObject(std::shared_ptr<SessionObject> of,
                                     const SpeculationOptions& options)
    : Object(kKind),
      session(std::move(of)),
      speculation(session->session, options),
      types(names_of(speculation.kinds())) {}

Drafting drafting_by(const weft_speculation* handle, const SessionObject& session) {
  if (!handle) return {};
  const auto object = pin<SpeculationObject>(handle);
  if (object->session.get() != &session)
    fail<ValueError>("the speculation belongs to another session");
  return {object->speculation.draft(), object->speculation.max_guesses()};
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_speculation_options_init(weft_speculation_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_speculation_options(), "weft_speculation_options");
  });
}

weft_status weft_speculation_open(weft_session* session, const weft_speculation_options* options,
                                  weft_speculation** speculation, weft_error** error) {
  return call(error, [&] {
    required(speculation, "speculation");
    const UsedSession s(session);
    *speculation = handle_of<weft_speculation>(
        std::make_shared<SpeculationObject>(s.object(), speculation_options(options, s)));
  });
}

weft_status weft_speculation_free(weft_speculation* speculation) {
  return free_handle<SpeculationObject>(speculation);
}

weft_status weft_speculation_get_info(weft_speculation* speculation, const char* type,
                                      weft_speculation_info* info, weft_error** error) {
  return call(error, [&] {
    const Used<SpeculationObject> s(speculation);
    const SpeculationCounters c = type ? s->counters(draft_kind(type)) : s->counters();
    write_struct(info,
                 weft_speculation_info{.n_max = static_cast<std::int32_t>(s->max_guesses()),
                                       .type = s.object()->types.c_str(),
                                       .n_drafted = c.n_drafted,
                                       .n_accepted = c.n_right,
                                       .seconds = c.seconds,
                                       .seconds_without = c.seconds_without},
                 "weft_speculation_info");
  });
}
