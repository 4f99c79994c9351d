#include "request.h"

#include <nlohmann/json.hpp>

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"

#include "messages.h"

namespace weft::api::anthropic {
namespace {

struct ToolFields {
  std::string type = "custom", name, description;
  std::string schema;
  bool strict = false;
};

// Tools that the service itself runs are skipped: the prompt does not mention them.
bool is_function(const ToolFields& tool) {
  return tool.type == "custom";
}

const Fields<ToolFields>& tool_fields() {
  static const auto table =
      Fields<ToolFields>()
          .add("type", &ToolFields::type, text(),
               "Type of the tool; types other than custom are skipped.")
          .required("name", &ToolFields::name, nonempty_text(), "Name of the tool.")
          .add("description", &ToolFields::description, text(),
               "Description of the tool for the model.")
          .add("input_schema", &ToolFields::schema, object_text(), "JSON Schema of the arguments.")
          .add("strict", &ToolFields::strict, boolean(),
               "Hold calls to the schema even if the model is free to call or not; forced calls "
               "always keep to it.");
  return table;
}

std::vector<ChatTool> function_tools(const std::vector<ToolFields>& given, const Path& path) {
  std::vector<ChatTool> tools;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ToolFields& tool = given[i];
    if (!is_function(tool)) continue;
    const Path item = path.item(i);
    if (tool.schema.empty()) refuse(item.member("input_schema"), "is required");
    tools.push_back(make_tool({tool.name, tool.description, tool.schema, tool.strict}, item));
  }
  return tools;
}

struct ChoiceFields {
  ToolChoice::Kind kind = ToolChoice::Kind::automatic;
  std::string name;
  bool disable_parallel = false;
};

const Fields<ChoiceFields>& choice_fields() {
  using Kind = ToolChoice::Kind;
  static const auto table =
      Fields<ChoiceFields>()
          .required("type", &ChoiceFields::kind,
                    choice<Kind>({{"auto", Kind::automatic},
                                  {"any", Kind::required},
                                  {"tool", Kind::named},
                                  {"none", Kind::none}}),
                    "Type of the choice: which tools may be called, and whether one must be.")
          .add("name", &ChoiceFields::name, nonempty_text(),
               "Name of the tool to call, if the type is tool.")
          .add("disable_parallel_tool_use", &ChoiceFields::disable_parallel, boolean(),
               "Allow at most one call in an answer.");
  return table;
}

ChoiceFields check_choice(ChoiceFields fields, const Path& path) {
  if (fields.kind == ToolChoice::Kind::named && fields.name.empty())
    refuse(path.member("name"), "is required");
  return fields;
}

struct ThinkingFields {
  bool enabled = false;
  std::int64_t budget = 0;
};

const Fields<ThinkingFields>& thinking_fields() {
  static const auto table =
      Fields<ThinkingFields>()
          .required(
              "type", &ThinkingFields::enabled,
              choice<bool>({{"enabled", true}, {"adaptive", true}, {"disabled", false}}),
              "Type of thinking: whether the model thinks first, if its template supports it.")
          .add("budget_tokens", &ThinkingFields::budget, whole(0),
               "Accepted without effect: max_tokens limits thoughts and answer together.");
  return table;
}

struct FormatFields {
  std::string type, schema;
};

const Fields<FormatFields>& format_fields() {
  static const auto table =
      Fields<FormatFields>()
          .required("type", &FormatFields::type, word({"json_schema"}),
                    "Type of the format, json_schema.")
          .required("schema", &FormatFields::schema,
                    json_text(kObject | kBoolean, "a JSON Schema", R"({"type":"object"})"),
                    "JSON Schema of the answer.");
  return table;
}

struct OutputFields {
  std::optional<FormatFields> format;
  std::string effort;
};

const Fields<OutputFields>& output_fields() {
  static const auto table =
      Fields<OutputFields>()
          .add("format", &OutputFields::format, object(format_fields()), "Format of the answer.")
          .add("effort", &OutputFields::effort, text(),
               "Effort of reasoning, which the template reads as reasoning_effort.");
  return table;
}

// Whether a value, or one of the blocks of its content, has cache_control.
bool is_marked(const Json& value) {
  if (value.is_array()) return std::ranges::any_of(value, is_marked);
  if (!value.is_object()) return false;
  if (value.contains("cache_control") && value["cache_control"].is_object()) return true;
  return value.contains("content") && value["content"].is_array() && is_marked(value["content"]);
}

struct ToolsFields {
  std::vector<ChatTool> tools;
  bool is_marked = false;
};

Form<ToolsFields> tools_form() {
  const auto each = checked<std::vector<ChatTool>>(list(object(tool_fields())), function_tools);
  return {each.expected, each.schema, each.types,
          [read = each.read](const Json& json, const Path& path) {
            return ToolsFields{read(json, path), is_marked(json)};
          }};
}

// Claude Code's first block of every request. It differs each time, so everything after it would be
// recomputed.
constexpr std::string_view kBillingLine = "x-anthropic-billing-header:";

struct SystemFields {
  std::string text;
  bool has_billing_line = false;
  bool is_marked = false;
};

Form<SystemFields> system_form() {
  const Form<std::string> content = content_form();
  return {content.expected, content.schema, content.types,
          [read = content.read](const Json& json, const Path& path) {
            SystemFields system{.text = read(json, path), .is_marked = is_marked(json)};
            const Json* first = json.is_array() && !json.empty() ? &json.front() : nullptr;
            if (!first || !first->is_object() || !first->contains("text")) return system;
            const auto& text = first->at("text").get_ref<const std::string&>();
            system.has_billing_line = text.starts_with(kBillingLine);
            // The texts of blocks are joined by newlines.
            if (system.has_billing_line) system.text.erase(0, text.size() + 1);
            return system;
          }};
}

Form<ChatRequest::Messages> messages_form() {
  const Form<std::vector<std::vector<ChatMessage>>> each = list(message(), 1);
  return {each.expected, each.schema, each.types,
          [read = each.read](const Json& json, const Path& path) {
            ChatRequest::Messages messages;
            std::size_t i = 0;
            for (std::vector<ChatMessage>& some : read(json, path)) {
              for (ChatMessage& message : some) messages.all.push_back(std::move(message));
              if (is_marked(json[i++])) messages.n_marked = messages.all.size();
            }
            return messages;
          }};
}

void apply_choice(ChatRequest& request, const ChoiceFields& fields) {
  request.tool_choice = {fields.kind, fields.name};
  request.parallel_calls = !fields.disable_parallel;
}

void apply_schema(ChatRequest& request, const FormatFields& format, std::string param) {
  if (request.schema)
    throw bad_request(std::move(param),
                      fmt::format("there is a format in {}, too", request.schema_param));
  request.schema = format.schema;
  request.schema_param = std::move(param);
}

void apply_output(ChatRequest& request, const OutputFields& fields) {
  request.effort = fields.effort;
  if (fields.format) apply_schema(request, *fields.format, "output_config.format");
}

Fields<ChatRequest> make_chat_fields() {
  return Fields<ChatRequest>()
      .required("messages", &ChatRequest::messages, messages_form(),
                "Messages of the conversation.")
      .apply(
          "system", system_form(),
          [](ChatRequest& request, const SystemFields& system) {
            request.system = system.text;
            request.has_billing_line = system.has_billing_line;
            request.marks_before_messages |= system.is_marked;
          },
          "Instructions for the model, before the conversation.")
      .apply(
          "tools", tools_form(),
          [](ChatRequest& request, const ToolsFields& tools) {
            request.tools = tools.tools;
            request.marks_before_messages |= tools.is_marked;
          },
          "Tools that the model may call.")
      .apply(
          "cache_control", object_text(),
          [](ChatRequest& request, const std::string&) { request.marks_all = true; },
          "Mark of the whole prompt: it is kept longer, and counted as written to the cache.")
      .apply("tool_choice", checked<ChoiceFields>(object(choice_fields()), check_choice),
             apply_choice, "Choice of tools: whether the model may or must call one.")
      .apply(
          "thinking", object(thinking_fields()),
          [](ChatRequest& request, const ThinkingFields& f) { request.thinking = f.enabled; },
          "Thinking before the answer.")
      .apply("output_config", object(output_fields()), apply_output, "Format of the answer.")
      .apply(
          "output_format", object(format_fields()),
          [](ChatRequest& request, const FormatFields& format) {
            apply_schema(request, format, "output_format");
          },
          "Format of the answer.")
      .refused("mcp_servers", {"[]"}, "servers of tools cannot be used")
      .refused("container", {}, "containers cannot be used");
}

}  // namespace

const Fields<ChatRequest>& chat_fields() {
  static const auto table = make_chat_fields().accepted("model", text(), "Name of the model.");
  return table;
}

const Fields<Request>& fields() {
  static const auto table =
      Fields<Request>()
          .include(chat_fields())
          .required("max_tokens", &Request::max_tokens, whole(1, max_token_limit()),
                    "Number of tokens to generate at most.")
          .aliases(token_limit_names(), "max_tokens")
          .include(sampling_fields())
          .add("stop_sequences", &Request::stop, stops_form(), generation_doc("stop"))
          .add("stream", &Request::stream, boolean(),
               "Send the answer as events while it is generated.");
  return table;
}

ChatTurn chat_turn(const ChatRequest& request) {
  ChatTurn input;
  if (!request.system.empty()) input.messages.push_back({"system", request.system});
  for (const ChatMessage& message : request.messages.all) input.messages.push_back(message);
  input.tools = request.tools;
  input.tool_choice = request.tool_choice;
  input.parallel_calls = request.parallel_calls;
  if (request.schema)
    input.constraint = {.kind = Constraint::Kind::json_schema,
                        .text = *request.schema,
                        .place = request.schema_param};
  if (request.thinking) input.kwargs = thinking_kwargs(*request.thinking);
  input.kwargs = merge_objects(input.kwargs, effort_kwargs(request.effort));
  return input;
}

}  // namespace weft::api::anthropic
