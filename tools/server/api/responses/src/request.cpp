#include "request.h"

#include <algorithm>

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"

#include "includes.h"
#include "input.h"

namespace weft::api::responses {
namespace {

struct ToolFields : FunctionText {
  std::string type;
};

// Only functions are read further: tools of other types have forms of their own.
const Fields<ToolFields>& type_fields() {
  static const auto table =
      Fields<ToolFields>().required("type", &ToolFields::type, text(),
                                    "Type of the tool; types other than function are skipped.");
  return table;
}

const Fields<ToolFields>& function_fields() {
  static const auto table =
      Fields<ToolFields>()
          .required("name", &ToolFields::name, nonempty_text(), "Name of the function.")
          .add("description", &ToolFields::description, text(),
               "Description of the function for the model.")
          .add("parameters", &ToolFields::parameters, object_text(),
               "JSON Schema of the arguments.")
          .add("strict", &ToolFields::strict, boolean(),
               "Hold calls to the schema even if the model is free to call or not; forced calls "
               "always keep to it.");
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
                    "Type of the answer.")
          .add("name", &FormatFields::name, text(), "Name of the schema.")
          .add("schema", &FormatFields::schema,
               json_text(kObject | kBoolean, "a JSON Schema", R"({"type":"object"})"),
               "JSON Schema of the answer; it is enforced whether strict is set or not.")
          .add("strict", &FormatFields::strict, boolean(),
               "Accepted without effect: the schema is always enforced.");
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
               checked<FormatFields>(object(format_fields()), check_format),
               "Format of the answer.")
          .add("verbosity", &TextFields::verbosity, text(),
               "Accepted without effect: the model decides how much it says.");
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
          .add("effort", &ReasoningFields::effort, text(),
               "Effort of reasoning, which the template reads as reasoning_effort.")
          .add("summary", &ReasoningFields::summary, text(),
               "Accepted without effect: reasoning is reported as it is.");
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
          .accepted("model", text(), "Name of the model.")
          .required("input", &ChatRequest::input, input(),
                    "Input: a text, or items of a conversation.")
          .add("instructions", &ChatRequest::instructions, text(), "Instructions of the system.")
          .add("previous_response_id", &ChatRequest::previous_response_id, nonempty_text(),
               "Id of the response that this one follows.")
          .apply(
              "tools", tools_form(),
              [](ChatRequest& request, ToolsField field) {
                request.tools = std::move(field.tools);
                request.tools_json = std::move(field.json);
              },
              "Functions that the model may call.")
          .apply(
              "tool_choice", choice_form(),
              [](ChatRequest& request, ChoiceField field) {
                request.tool_choice = std::move(field.choice);
                request.tool_choice_json = std::move(field.json);
              },
              "Choice of tools: whether the model may or must call one.")
          .add("parallel_tool_calls", &ChatRequest::parallel_tool_calls, boolean(),
               "Allow several calls in one answer.")
          .apply("text", object(text_fields()), apply_text, "Text of the answer: its format.")
          .apply("reasoning", object(reasoning_fields()), apply_reasoning,
                 "Reasoning of the model: how much, and how it is reported.")
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
          .aliases(token_limit_names(), "max_output_tokens")
          .include(sampling_fields())
          .add("stream", &Request::stream, boolean(),
               "Send the answer as events while it is generated.")
          .add("store", &Request::store, boolean(),
               "Keep the response, so that later ones can follow it.")
          .add("metadata", &Request::metadata_json, object_text(),
               "Metadata of the client, repeated in the response.")
          .add("truncation", &Request::truncation, word({"disabled", "auto"}),
               "Accepted without effect: prompts that do not fit are always refused.")
          .add("include", &Request::include, list(include_form()),
               "Names of additional contents: message.output_text.logprobs adds probabilities.")
          .add("top_logprobs", &Request::top_logprobs, whole(0, 20),
               "Number of most likely tokens to report with each token.")
          .add("user", &Request::user, text(), "Name of the user, repeated in the response.")
          .add("prompt_cache_key", &Request::prompt_cache_key, text(),
               "Key of the client, repeated in the response: the prompt is kept longer.")
          .add("safety_identifier", &Request::safety_identifier, text(),
               "Identifier of the user, repeated in the response.")
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
  const bool wanted = std::ranges::find(request.include, kLogprobs) != request.include.end();
  if (request.top_logprobs) return static_cast<int>(*request.top_logprobs);
  return wanted ? 0 : -1;
}

}  // namespace weft::api::responses
