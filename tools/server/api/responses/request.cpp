#include "api/responses/request.h"

#include <algorithm>

#include "api/chat_fields.h"
#include "api/errors.h"
#include "api/interface_forms.h"
#include "api/json.h"
#include "api/json_text.h"
#include "api/responses/input.h"

namespace weft::api::responses {
namespace {

struct ToolFields : FunctionText {
  std::string type;
};

// Only functions are read further: tools of other types have forms of their own.
const Fields<ToolFields>& type_fields() {
  static const auto table = Fields<ToolFields>().required("type", &ToolFields::type, text(),
                                                          "others than function are skipped");
  return table;
}

const Fields<ToolFields>& function_fields() {
  static const auto table =
      Fields<ToolFields>()
          .required("name", &ToolFields::name, nonempty_text(), "of the function")
          .add("description", &ToolFields::description, text(), "for the model")
          .add("parameters", &ToolFields::parameters, object_text(), "JSON Schema of the arguments")
          .add("strict", &ToolFields::strict, boolean(), "calls keep to the schema in any case");
  return table;
}

std::vector<ChatTool> function_tools(const std::vector<const Json*>& given, const Path& path) {
  std::vector<ChatTool> tools;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Path item = path.item(i);
    if (type_fields().read(*given[i], {}, item).type == "function")
      tools.push_back(make_tool(function_fields().read(*given[i], {}, item), item));
  }
  return tools;
}

struct ToolsField {
  std::vector<ChatTool> tools;
  std::string json;
};

Form<ToolsField> tools_form() {
  Form<std::vector<ChatTool>> tools = checked<std::vector<ChatTool>>(
      list(raw(kObject, "an object", R"({"type":"object"})")), function_tools);
  return {tools.expected, tools.schema, tools.types,
          [read = tools.read](const Json& json, const Path& path) {
            return ToolsField{read(json, path), to_text(json)};
          }};
}

struct ChoiceField {
  ToolSelection choice;
  std::string json;
};

Form<ChoiceField> choice_form() {
  Form<ToolSelection> form = tool_choice_form(ChoiceStyle::flat);
  return {form.expected, form.schema, form.types,
          [read = form.read](const Json& json, const Path& path) {
            return ChoiceField{read(json, path), to_text(json)};
          }};
}

struct FormatFields {
  Constraint::Kind kind = Constraint::Kind::none;
  std::string name, schema;
  bool strict = false;
};

const Fields<FormatFields>& format_fields() {
  using Kind = Constraint::Kind;
  static const auto table =
      Fields<FormatFields>()
          .required("type", &FormatFields::kind,
                    choice<Kind>({{"text", Kind::none},
                                  {"json_object", Kind::json_object},
                                  {"json_schema", Kind::json_schema}}),
                    "what the answer is")
          .add("name", &FormatFields::name, text(), "of the schema")
          .add("schema", &FormatFields::schema,
               json_text(kObject | kBoolean, "a JSON Schema", R"({"type":"object"})"),
               "which the answer has whether `strict` is set or not")
          .add("strict", &FormatFields::strict, boolean(), "the answer always has its schema");
  return table;
}

FormatFields check_format(FormatFields format, const Path& path) {
  if (format.kind == Constraint::Kind::json_schema && format.schema.empty())
    refuse(path.member("schema"), "is required");
  return format;
}

struct TextFields {
  FormatFields format;
  std::string verbosity;
};

const Fields<TextFields>& text_fields() {
  static const auto table =
      Fields<TextFields>()
          .add("format", &TextFields::format,
               checked<FormatFields>(object(format_fields()), check_format), "form of the answer")
          .add("verbosity", &TextFields::verbosity, text(), "accepted; it has no effect");
  return table;
}

std::string text_json(const TextFields& fields) {
  using Kind = Constraint::Kind;
  JsonObject format;
  switch (fields.format.kind) {
    case Kind::json_object:
      format.add("type", "json_object");
      break;
    case Kind::json_schema:
      format.add("type", "json_schema")
          .add("name", fields.format.name)
          .add("strict", fields.format.strict)
          .add_json("schema", fields.format.schema);
      break;
    default:
      format.add("type", "text");
  }
  JsonObject json;
  json.add_json("format", format.str());
  if (!fields.verbosity.empty()) json.add("verbosity", fields.verbosity);
  return json.str();
}

void apply_text(ChatRequest& request, const TextFields& fields) {
  request.constraint = {
      .kind = fields.format.kind, .text = fields.format.schema, .place = "text.format"};
  request.text_json = text_json(fields);
}

struct ReasoningFields {
  std::string effort, summary;
};

const Fields<ReasoningFields>& reasoning_fields() {
  static const auto table =
      Fields<ReasoningFields>()
          .add("effort", &ReasoningFields::effort, text(), "reasoning_effort of the template")
          .add("summary", &ReasoningFields::summary, text(),
               "accepted; reasoning is reported as it is");
  return table;
}

void apply_reasoning(ChatRequest& request, const ReasoningFields& fields) {
  request.effort = fields.effort;
  request.reasoning_json = JsonObject()
                               .add_or_null("effort", fields.effort)
                               .add_or_null("summary", fields.summary)
                               .str();
}

}  // namespace

const Fields<ChatRequest>& chat_fields() {
  static const auto table =
      Fields<ChatRequest>()
          .accepted("model", text(), "name")
          .required("input", &ChatRequest::input, input(), "a text, or items of a conversation")
          .add("instructions", &ChatRequest::instructions, text(), "of the system")
          .add("previous_response_id", &ChatRequest::previous_response_id, nonempty_text(),
               "the response that this one follows")
          .apply(
              "tools", tools_form(),
              [](ChatRequest& request, ToolsField field) {
                request.tools = std::move(field.tools);
                request.tools_json = std::move(field.json);
              },
              "functions that the model may call")
          .apply(
              "tool_choice", choice_form(),
              [](ChatRequest& request, ChoiceField field) {
                request.tool_choice = std::move(field.choice);
                request.tool_choice_json = std::move(field.json);
              },
              "whether it must call one")
          .add("parallel_tool_calls", &ChatRequest::parallel_tool_calls, boolean(),
               "more than one call")
          .apply("text", object(text_fields()), apply_text, "form of the answer")
          .apply("reasoning", object(reasoning_fields()), apply_reasoning, "how it is reasoned")
          .refused("conversation", {}, "conversations are not kept; use previous_response_id")
          .refused("prompt", {}, "stored prompts are not supported");
  return table;
}

const Fields<Request>& fields() {
  static const auto table =
      Fields<Request>()
          .include(chat_fields())
          .add("max_output_tokens", &Request::max_tokens, token_limit(1),
               generation_doc("max_tokens"))
          .include(sampling_fields())
          .add("stream", &Request::stream, boolean(), "answer in events")
          .add("store", &Request::store, boolean(), "keep the response for a while")
          .add("metadata", &Request::metadata_json, object_text(), "repeated in the response")
          .add("truncation", &Request::truncation, word({"disabled", "auto"}),
               "prompts that do not fit are always refused")
          .add("include", &Request::include, list(text()),
               "message.output_text.logprobs adds probabilities")
          .add("top_logprobs", &Request::top_logprobs, whole(0, 20),
               "how many of the likeliest tokens have their probability reported")
          .add("user", &Request::user, text(), "repeated in the response")
          .add("prompt_cache_key", &Request::prompt_cache_key, text(), "repeated in the response")
          .add("safety_identifier", &Request::safety_identifier, text(), "repeated in the response")
          .refused("background", {"false"}, "responses cannot run in the background");
  return table;
}

ChatTurn chat_turn(const ChatRequest& request, const std::vector<ChatMessage>& earlier) {
  ChatTurn chat;
  chat.messages = earlier;
  chat.messages.insert(chat.messages.end(), request.input.begin(), request.input.end());
  chat.messages = with_instructions(request.instructions, std::move(chat.messages));
  chat.tools = selected_tools(request.tools, request.tool_choice);
  chat.tool_choice = request.tool_choice;
  chat.parallel_calls = request.parallel_tool_calls;
  chat.constraint = request.constraint;
  chat.kwargs = effort_kwargs(request.effort);
  chat.messages_place = "input";
  return chat;
}

int n_logprobs(const Request& request) {
  const bool wanted =
      std::ranges::find(request.include, "message.output_text.logprobs") != request.include.end();
  if (request.top_logprobs) return static_cast<int>(*request.top_logprobs);
  return wanted ? 0 : -1;
}

}  // namespace weft::api::responses
