#include "weft/template/chat_template.h"

#include <cstdio>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "jinja/renderer.h"

namespace weft {
namespace {

using jinja::Dict;
using jinja::Foreign;
using jinja::Heap;
using jinja::List;
using jinja::Value;

// Bytes; the longest in use have 50 kB. A tree takes some 100 times as much.
constexpr std::size_t kMaxSource = std::size_t{2} << 20;

// Forms that frame every message in the same way, for models whose file has no template.
struct Form {
  std::string_view name, source;
};
constexpr Form kForms[] = {
    {"chatml",
     "{% for message in messages %}"
     "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
    {"llama3",
     "{{ bos_token }}{% for message in messages %}"
     "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
     "message['content'] | trim + '<|eot_id|>' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}"
     "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"},
};

Value own(Heap& heap, std::string_view text) {
  return heap.text(text);
}

Value foreign(Heap& heap, std::string_view text) {
  jinja::TextBuilder out;
  out.add_foreign(text);
  return Value::from(heap.str(std::move(out)));
}

void check_utf8(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid)
      fail<FormatError>("{} is not UTF-8: byte {:#04x} at {}", what, text[at] & 0xff, at);
    at += c.length;
  }
}

std::tm parse_clock(std::string_view text) {
  std::tm t{};
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &t.tm_year, &t.tm_mon, &t.tm_mday,
                  &t.tm_hour, &t.tm_min, &t.tm_sec) < 3) {
    fail<FormatError>("strftime_now must be like 2024-07-26T12:34:56, got '{}'",
                      text.substr(0, 40));
  }
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  const std::time_t seconds = timegm(&t);  // fills in the days of the week and of the year
  gmtime_r(&seconds, &t);
  return t;
}

Value tool_calls(Heap& heap, const ChatMessage& message, bool as_text) {
  List* calls = heap.list();
  for (const ToolCall& call : message.tool_calls) {
    Dict* function = heap.dict();
    function->set(heap, own(heap, "name"), foreign(heap, call.name));
    const Value arguments =
        as_text || call.arguments.empty()
            ? foreign(heap, call.arguments)
            : from_json(heap, fmt::format("a call's argument text ({})", call.name), call.arguments,
                        Foreign::all);
    function->set(heap, own(heap, "arguments"), arguments);
    Dict* one = heap.dict();
    if (!call.id.empty()) one->set(heap, own(heap, "id"), foreign(heap, call.id));
    one->set(heap, own(heap, "type"), own(heap, "function"));
    one->set(heap, own(heap, "function"), Value::from(function));
    calls->items.push_back(Value::from(one));
  }
  return Value::from(calls);
}

Value message_value(Heap& heap, const ChatMessage& message, bool arguments_as_text) {
  if (message.role.empty()) fail<ValueError>("a message has no role");
  Dict* m = heap.dict();
  const auto set = [&](std::string_view key, const Value& v) { m->set(heap, own(heap, key), v); };
  for (const std::string* text :
       {&message.role, &message.content, &message.reasoning, &message.name, &message.tool_call_id})
    check_utf8(*text, "a message");
  for (const ToolCall& call : message.tool_calls)
    for (const std::string* text : {&call.id, &call.name, &call.arguments})
      check_utf8(*text, "a tool call");
  set("role", foreign(heap, message.role));
  set("content", foreign(heap, message.content));
  if (!message.reasoning.empty()) set("reasoning_content", foreign(heap, message.reasoning));
  if (!message.tool_calls.empty()) set("tool_calls", tool_calls(heap, message, arguments_as_text));
  if (!message.tool_call_id.empty()) set("tool_call_id", foreign(heap, message.tool_call_id));
  if (!message.name.empty()) set("name", foreign(heap, message.name));
  return Value::from(m);
}

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(std::string_view source, std::string_view name)
      : source_(jinja::normalized(source)),
        name_(name),
        constants_(source_, {.steps = SIZE_MAX, .memory = 64 * kMaxSource}),
        root_(jinja::parse(source_, constants_)) {}

  std::string_view name() const override { return name_; }
  const std::string& source() const override { return source_; }

  RenderedChat render(std::span<const ChatMessage> messages,
                      const ChatRenderOptions& options) const override {
    bool calls = false;
    for (const ChatMessage& message : messages) calls = calls || !message.tool_calls.empty();
    try {
      return render(messages, options, false);
    } catch (const ChatTemplateError&) {
      if (!calls) throw;
      // Some templates put the arguments of calls together as text.
      try {
        return render(messages, options, true);
      } catch (const ChatTemplateError&) {
      }
      throw;
    }
  }

  RenderedChat render_arguments(std::string_view arguments,
                                const ChatRenderOptions& defaults) const override {
    jinja::Renderer renderer(*root_, source_, defaults.limits);
    Heap& heap = renderer.heap;
    const Value given = from_json(heap, "the text of the arguments", arguments, Foreign::messages);
    if (!given.is(jinja::Kind::dict)) {
      fail<FormatError>("the arguments must be a JSON object, got {}", jinja::type_name(given));
    }
    Dict* variables = heap.dict();
    for (const std::string_view name : {"tools", "documents"})
      variables->set(heap, own(heap, name), Value::none());
    variables->set(heap, own(heap, "add_generation_prompt"), Value::from(false));
    if (!defaults.bos.empty())
      variables->set(heap, own(heap, "bos_token"), own(heap, defaults.bos));
    if (!defaults.eos.empty())
      variables->set(heap, own(heap, "eos_token"), own(heap, defaults.eos));
    for (const auto& [key, value] : given.dict->items) {
      if (key.text->text != "strftime_now")
        variables->set(heap, key, value);
      else if (value.is(jinja::Kind::string))
        renderer.clock = parse_clock(value.text->text);
    }
    return finish(renderer, *variables);
  }

 private:
  RenderedChat render(std::span<const ChatMessage> messages, const ChatRenderOptions& options,
                      bool arguments_as_text) const {
    jinja::Renderer renderer(*root_, source_, options.limits);
    Heap& heap = renderer.heap;
    Dict* variables = heap.dict();
    const auto set = [&](std::string_view name, const Value& v) {
      variables->set(heap, own(heap, name), v);
    };
    List* all = heap.list();
    for (const ChatMessage& message : messages)
      all->items.push_back(message_value(heap, message, arguments_as_text));
    set("messages", Value::from(all));
    set("tools", options.tools.empty()
                     ? Value::none()
                     : from_json(heap, "the list of tools", options.tools, Foreign::all));
    set("documents", Value::none());
    set("add_generation_prompt", Value::from(options.add_generation_prompt));
    set("bos_token", own(heap, options.bos));
    set("eos_token", own(heap, options.eos));
    if (!options.kwargs.empty()) {
      const Value more =
          from_json(heap, "the text of the template's variables", options.kwargs, Foreign::none);
      if (!more.is(jinja::Kind::dict)) {
        fail<FormatError>("the template's variables must be a JSON object, got {}",
                          jinja::type_name(more));
      }
      for (const auto& [key, value] : more.dict->items) variables->set(heap, key, value);
    }
    return finish(renderer, *variables);
  }

  static RenderedChat finish(jinja::Renderer& renderer, const Dict& variables) {
    jinja::TextBuilder out = renderer.run(variables);
    return {std::move(out.text), std::move(out.foreign)};
  }

  std::string source_;
  std::string_view name_;
  Heap constants_;
  jinja::NodePtr root_;
};

}  // namespace

ChatTemplateError::ChatTemplateError(std::size_t line, std::size_t column, std::string message,
                                     bool raised)
    : ValueError(fmt::format("chat template, line {}, column {}: {}", line, column, message)),
      line_(line),
      column_(column),
      message_(std::move(message)),
      raised_(raised) {}

std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text) {
  if (template_text.empty()) fail<ValueError>("the chat template is empty");
  if (template_text.size() > kMaxSource) {
    fail<ValueError>("the chat template has {} bytes, at most {} are supported",
                     template_text.size(), kMaxSource);
  }
  check_utf8(template_text, "the chat template");
  return std::make_unique<JinjaTemplate>(template_text, "");
}

std::unique_ptr<const ChatTemplate> make_named_chat_template(std::string_view name) {
  std::string names;
  for (const Form& form : kForms) {
    if (form.name == name) return std::make_unique<JinjaTemplate>(form.source, form.name);
    names.append(names.empty() ? "" : ", ").append(form.name);
  }
  fail<ValueError>("unknown chat template '{}' (known: {})", name, names);
}

std::vector<std::string_view> chat_template_names() {
  std::vector<std::string_view> names;
  for (const Form& form : kForms) names.push_back(form.name);
  return names;
}

}  // namespace weft
