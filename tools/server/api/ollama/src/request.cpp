#include "request.h"

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"

namespace weft::api::ollama {
namespace {

struct CallFields {
  std::string id, name, arguments = "{}";
};

const Fields<CallFields>& function_fields() {
  static const auto table =
      Fields<CallFields>()
          .required("name", &CallFields::name, nonempty_text(),
                    "Name of the function that is called.")
          .add("arguments", &CallFields::arguments, object_text(), "Arguments of the call.");
  return table;
}

const Fields<ToolCall>& call_fields() {
  static const auto table = Fields<ToolCall>()
                                .add("id", &ToolCall::id, text(), "Id of the call.")
                                .apply(
                                    "function", object(function_fields()),
                                    [](ToolCall& call, CallFields fields) {
                                      call.name = std::move(fields.name);
                                      call.arguments = std::move(fields.arguments);
                                    },
                                    "Function that is called, with its arguments.");
  return table;
}

ToolCall check_call(ToolCall call, const Path& path) {
  if (call.name.empty()) refuse(path.member("function"), "is required");
  return call;
}

const Fields<ChatMessage>& message_fields() {
  static const auto table =
      Fields<ChatMessage>()
          .required("role", &ChatMessage::role, word({"system", "user", "assistant", "tool"}),
                    "Role of the one who speaks.")
          .add("content", &ChatMessage::content, text(), "Text of the message.")
          .add("thinking", &ChatMessage::reasoning, text(), "Thoughts before the text.")
          .add("tool_calls", &ChatMessage::tool_calls,
               list(checked<ToolCall>(object(call_fields()), check_call)),
               "Calls of the assistant.")
          .add("tool_name", &ChatMessage::name, text(), "Name of the tool that has this result.")
          .add("tool_call_id", &ChatMessage::tool_call_id, text(),
               "Id of the call that has this result.")
          .refused("images", {"[]"}, "images are not supported");
  return table;
}

// "json" or a schema; an empty text sets no constraint.
Form<Constraint> format_form() {
  using Kind = Constraint::Kind;
  const auto named = [](Kind kind) { return Constraint{.kind = kind, .place = "format"}; };
  return either(
      convert<Constraint>(choice<Kind>({{"json", Kind::json_object}, {"", Kind::none}}), named),
      convert<Constraint>(
          json_text(kObject, "a JSON Schema", R"({"type":"object"})"), [](std::string schema) {
            return Constraint{
                .kind = Kind::json_schema, .text = std::move(schema), .place = "format"};
          }));
}

// A truth value, or how much to think: the template's variables.
Form<std::string> think_form() {
  return either(
      convert<std::string>(boolean(), thinking_kwargs),
      convert<std::string>(word({"low", "medium", "high"}), [](const std::string& effort) {
        return merge_objects(thinking_kwargs(true), effort_kwargs(effort));
      }));
}

// Durations are texts ("5m") or seconds. Only 0, which unloads the model, matters.
Form<bool> keep_alive_form() {
  return either(convert<bool>(number(), [](double seconds) { return seconds == 0; }),
                convert<bool>(text(), [](const std::string& duration) {
                  return duration == "0" || duration == "0s" || duration == "0m";
                }));
}

// Options of loading, and of methods that Weft does not need: accepted as they are.
struct Accepted {
  std::int64_t whole = 0;
  bool flag = false;
};

const Fields<Accepted>& accepted_options() {
  static const auto table = [] {
    const std::string loading =
        "Accepted without effect: the server decides how it loads the model.";
    Fields<Accepted> fields;
    for (const char* name :
         {"num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "num_gqa"})
      fields.add(name, &Accepted::whole, whole(), loading);
    for (const char* name : {"numa", "use_mmap", "use_mlock", "low_vram", "f16_kv", "vocab_only"})
      fields.add(name, &Accepted::flag, boolean(), loading);
    fields.add("penalize_newline", &Accepted::flag, boolean(),
               "Accepted without effect: penalties treat line ends like all other tokens.");
    return fields;
  }();
  return table;
}

struct Options : GenerationFields {
  Accepted accepted;
};

const Fields<Options>& all_options() {
  static const auto table =
      Fields<Options>()
          .include(sampling_fields())
          .include(accepted_options(), &Options::accepted)
          .add("num_predict", &Options::max_tokens, any_token_limit(), generation_doc("max_tokens"))
          .aliases(token_limit_names(), "num_predict")
          .add("stop", &Options::stop, stop_form(), generation_doc("stop"));
  return table;
}

Fields<TextFields> text_fields() {
  return Fields<TextFields>()
      .accepted("model", text(), "Name of the model, also with :latest.")
      .apply(
          "options", raw(kObject, "an object", all_options().schema()),
          [](TextFields& fields, const Json* json) {
            Options options;
            static_cast<GenerationFields&>(options) = fields;
            const Path body;
            all_options().read_into(*json, body.member("options"), &options);
            options.place = "options.";
            static_cast<GenerationFields&>(fields) = std::move(options);
          },
          "Options of sampling and of lengths.")
      .add("stream", &TextFields::stream, boolean(),
           "Send the answer in lines, as it is generated; true by default.")
      .add("format", &TextFields::format, format_form(),
           "Format of the answer: json, or a JSON Schema.")
      .add("think", &TextFields::template_kwargs, think_form(),
           "Thinking before the answer: whether, or how much.")
      .add("keep_alive", &TextFields::unload, keep_alive_form(),
           "Time for which the model stays loaded, which the server decides; 0 is refused if there "
           "is nothing to generate.")
      .add("logprobs", &TextFields::logprobs, boolean(),
           "Report the logarithms of the probabilities of the tokens.")
      .add("top_logprobs", &TextFields::top_logprobs, whole(0, 20),
           "Number of most likely tokens to report beside each token.")
      .refused("images", {"[]"}, "images are not supported")
      .refused("template", {"\"\""}, "the model's own template is used");
}

}  // namespace

const Fields<ChatRequest>& chat_fields() {
  static const auto table =
      Fields<ChatRequest>()
          .include(text_fields())
          .add("messages", &ChatRequest::messages, list(object(message_fields())),
               "Messages of the conversation; an empty list only loads the model.")
          .add("tools", &ChatRequest::tools, list(tool_form()), "Tools that the model may call.");
  return table;
}

const Fields<GenerateRequest>& generate_fields() {
  static const auto table =
      Fields<GenerateRequest>()
          .include(text_fields())
          .add("prompt", &GenerateRequest::prompt, text(),
               "Prompt of the text; an empty one only loads the model.")
          .add("system", &GenerateRequest::system, text(),
               "Instructions for the model, before the prompt.")
          .add("suffix", &GenerateRequest::suffix, text(), "Text that follows the generated one.")
          .add("raw", &GenerateRequest::raw, boolean(),
               "Continue the prompt itself, without the chat template.")
          .add("context", &GenerateRequest::context, list(whole(0)),
               "Context of an earlier answer, which this one continues.");
  return table;
}

ChatTurn chat_turn(const ChatRequest& request) {
  ChatTurn input;
  input.messages = request.messages;
  input.tools = request.tools;
  input.constraint = request.format;
  input.kwargs = request.template_kwargs;
  return input;
}

ChatTurn chat_turn(const GenerateRequest& request) {
  ChatTurn input;
  if (!request.system.empty()) input.messages.push_back({"system", request.system});
  input.messages.push_back({"user", request.prompt});
  input.constraint = request.format;
  input.kwargs = request.template_kwargs;
  input.messages_place = "prompt";
  return input;
}

int n_logprobs(const TextFields& fields) {
  return fields.logprobs ? static_cast<int>(fields.top_logprobs) : -1;
}

}  // namespace weft::api::ollama
