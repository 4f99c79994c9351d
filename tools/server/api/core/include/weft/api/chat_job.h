#pragma once
// Chats of requests: weft/chat/chat_turn.h with the served model's format and settings.

#include "weft/api/generation_fields.h"
#include "weft/api/text_run.h"
#include "weft/chat/chat_turn.h"

namespace weft::api {

// plan_turn(), with the model's own variables for the template before those of the turn. Throws
// ApiError 400 that names the part of the turn, 501 if the model has no template. Calls without an
// id get a random one that begins with `id_prefix`.
ChatPlan plan_chat(const ServedModel& model, ChatTurn turn, std::string_view id_prefix = "call_");

// The job that answers one chat. Throws like plan_chat() and text_request().
TextJob chat_job(const ServedModel& model, ChatTurn turn, const GenerationFields& generation,
                 int logprobs = -1, std::string_view id_prefix = "call_");

// The grammar of a constraint for texts that are not chats. Null if there is none. Throws ApiError
// 400 that names its place.
std::shared_ptr<const Grammar> constraint_grammar(const ServedModel& model,
                                                  const Constraint& constraint);

}  // namespace weft::api
