#include "weft/api/chat_job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/api/errors.h"
#include "weft/api/json.h"
#include "weft/chat/next_turn.h"
#include "weft/run/model.h"

namespace weft::api {
namespace {

constexpr int kShortId = 9;  // letters and digits

// Applies the parts of the plan that concern the engine: the grammar and the control tokens.
void apply(const ChatPlan& plan, GenerationOptions& generation) {
  generation.rules.grammar = plan.grammar;
  if (plan.shown.empty() || generation.decode.show_special) return;
  generation.shows_control = [shown = plan.shown](TokenId id) {
    return std::ranges::find(shown, id) != shown.end();
  };
}

}  // namespace

namespace {

ChatTurn with_defaults(const ServedModel& model, ChatTurn turn) {
  turn.kwargs = merge_objects(model.template_kwargs, turn.kwargs);
  if (!turn.reasoning_apart) turn.reasoning_apart = model.reasoning != ReasoningFormat::none;
  if (turn.messages_place.empty()) turn.messages_place = "messages";
  if (turn.choice_place.empty()) turn.choice_place = "tool_choice";
  if (turn.tools_place.empty()) turn.tools_place = "tools";
  return turn;
}

}  // namespace

ChatPlan plan_chat(const ServedModel& model, ChatTurn turn, std::string_view id_prefix) {
  if (!model.chat.chat_template)
    throw not_supported(fmt::format("the model {} has no chat template", model.name));
  turn = with_defaults(model, std::move(turn));
  ChatPlan plan = naming("", [&] { return plan_turn(model.chat, turn); });
  const bool short_ids = plan.reading.short_ids;
  plan.reading.new_id = [short_ids, prefix = std::string(id_prefix)] {
    return short_ids ? new_id("", kShortId) : new_id(prefix);
  };
  return plan;
}

TextJob chat_job(const ServedModel& model, ChatTurn turn, const GenerationFields& generation,
                 int logprobs, std::string_view id_prefix) {
  TextJob job;
  job.prompt_param = turn.messages_place.empty() ? "messages" : turn.messages_place;
  ChatPlan plan = plan_chat(model, turn, id_prefix);
  job.turn = std::make_shared<const ChatTurn>(with_defaults(model, std::move(turn)));
  const bool has_points = model.model && model.model->facts().recurrent;
  std::vector<std::int64_t> marks;
  if (has_points) marks = message_borders(model.chat, *job.turn, plan.tokens);
  TextRequest request =
      text_request(model, generation, std::move(plan.tokens), logprobs, job.prompt_param);
  apply(plan, request.generation);
  request.marks = std::move(marks);
  job.prompts.push_back(std::move(request));
  job.reading = std::move(plan.reading);
  return job;
}

std::shared_ptr<const Grammar> constraint_grammar(const ServedModel& model,
                                                  const Constraint& constraint) {
  return naming("", [&] { return compile_constraint(constraint, model.model->vocabulary()); });
}

}  // namespace weft::api
