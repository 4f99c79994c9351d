#include "weft/template/chat_template.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/text.h"

#include "abilities.h"
#include "adapted_chat.h"
#include "chat_values.h"
#include "jinja/renderer.h"

namespace weft {
namespace {

using chat::AdaptedChat;
using chat::CallArguments;
using chat::ValueStyle;
using jinja::Dict;
using jinja::Foreign;
using jinja::Heap;
using jinja::Value;

// Bytes; the longest in use have 50 kB. A tree takes some 100 times as much.
constexpr std::size_t kMaxSource = std::size_t{2} << 20;

// The steps of all renders together that find out what a template can show. The templates in use
// need less than a tenth; a hostile one may not delay the loading of its model.
constexpr std::size_t kProbeSteps = 4'000'000;

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

// Deducts the steps of a render, whether it fails or not.
class Deducted {
 public:
  Deducted(const Heap& heap, std::size_t& steps_left) : heap_(heap), steps_left_(steps_left) {}
  ~Deducted() { steps_left_ -= heap_.steps(); }
  Deducted(const Deducted&) = delete;
  Deducted& operator=(const Deducted&) = delete;

 private:
  const Heap& heap_;
  std::size_t& steps_left_;
};

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
                      const ChatRenderOptions& options) const override;
  const TemplateAbilities& abilities() const override;

  RenderedChat render_arguments(std::string_view arguments,
                                const ChatRenderOptions& defaults) const override {
    jinja::Runtime runtime(source_, defaults.limits);
    Heap& heap = runtime.heap;
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
        runtime.clock = parse_clock(value.text->text);
    }
    return finish(runtime, *variables);
  }

 private:
  // With the tools of a JSON array in the variable `tools_variable`. Takes at most `steps_left`
  // steps, and deducts them.
  RenderedChat plain(std::span<const ChatMessage> messages, const ChatRenderOptions& options,
                     const std::string& tools, const std::string& tools_variable,
                     const ValueStyle& style, std::size_t& steps_left) const;
  RenderedChat first_that_works(const AdaptedChat& chat, const ChatRenderOptions& options) const;

  RenderedChat finish(jinja::Runtime& runtime, const Dict& variables) const {
    jinja::TextBuilder out = jinja::render(*root_, runtime, variables);
    return {std::move(out.text), std::move(out.foreign)};
  }

  std::string source_;
  std::string_view name_;
  Heap constants_;
  jinja::NodePtr root_;
  mutable std::once_flag probed_;
  mutable TemplateAbilities abilities_;
};

RenderedChat JinjaTemplate::plain(std::span<const ChatMessage> messages,
                                  const ChatRenderOptions& options, const std::string& tools,
                                  const std::string& tools_variable, const ValueStyle& style,
                                  std::size_t& steps_left) const {
  ChatRenderLimits limits = options.limits;
  limits.steps = steps_left;
  jinja::Runtime runtime(source_, limits);
  Heap& heap = runtime.heap;
  const Deducted deducted(heap, steps_left);
  Dict* variables = heap.dict();
  const auto set = [&](std::string_view name, const Value& v) {
    variables->set(heap, own(heap, name), v);
  };
  set("messages", chat::messages_value(heap, messages, style));
  set("tools", Value::none());
  if (!tools.empty())
    set(tools_variable, from_json(heap, "the list of tools", tools, Foreign::all));
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
  return finish(runtime, *variables);
}

const TemplateAbilities& JinjaTemplate::abilities() const {
  std::call_once(probed_, [this] {
    const ChatRenderOptions options{.add_generation_prompt = false, .bos = "<s>", .eos = "</s>"};
    std::size_t steps_left = kProbeSteps;
    abilities_ =
        chat::abilities_of([&](std::span<const ChatMessage> messages, const std::string& tools,
                               const std::string& variable, const ValueStyle& style) {
          return plain(messages, options, tools, variable, style, steps_left).text;
        });
  });
  return abilities_;
}

// Tries forms of the definitions, of the arguments of calls, and of thoughts beside calls. If none
// works, the error is that of the first. All share one budget of steps.
RenderedChat JinjaTemplate::first_that_works(const AdaptedChat& adapted,
                                             const ChatRenderOptions& options) const {
  const TemplateAbilities& can = abilities();
  const bool passes_calls = !adapted.write_calls && chat::has_calls(adapted.messages);
  std::exception_ptr first;
  std::size_t steps_left = options.limits.steps;
  const auto tried = [&](const std::vector<ChatMessage>& messages,
                         const std::string& tools) -> std::optional<RenderedChat> {
    for (const CallArguments arguments :
         {CallArguments::objects, CallArguments::texts, CallArguments::repaired}) {
      if (arguments != CallArguments::objects && !passes_calls) continue;
      try {
        return plain(messages, options, tools, can.tools_variable,
                     {arguments, can.reasoning_member, adapted.write_calls}, steps_left);
      } catch (const ChatTemplateError& e) {
        if (e.cause() == ChatTemplateError::Cause::limit) throw;  // another form would cost as much
        if (!first) first = std::current_exception();
      }
    }
    return std::nullopt;
  };
  const bool nulls = adapted.tools.find("null") != std::string::npos;
  const std::string given = nulls ? chat::without_nulls(adapted.tools) : adapted.tools;
  if (auto done = tried(adapted.messages, given)) return *done;
  // Some go through the list of tools without asking whether there is one.
  const std::string tools = adapted.tools.empty() ? "[]" : chat::completed_tools(adapted.tools);
  if (auto done = tried(adapted.messages, tools)) return *done;
  if (passes_calls) {
    const std::vector<ChatMessage> joined = chat::with_joined_thoughts(adapted.messages);
    for (const std::string& form : {adapted.tools, tools})
      if (auto done = tried(joined, form)) return *done;
  }
  // Some refuse two messages of one role.
  const std::vector<ChatMessage> joined = chat::with_joined_neighbours(adapted.messages);
  if (joined.size() < adapted.messages.size())
    if (auto done = tried(joined, tools)) return *done;
  if (passes_calls)
    if (auto done = tried(chat::without_words_with_calls(joined), tools)) return *done;
  std::rethrow_exception(first);
}

// The tag has a space at its end, which shows whether the template trims the content.
RenderedChat continued(RenderedChat chat, std::string_view tag) {
  const std::size_t at = chat.text.rfind(trim_right(tag));
  if (at == std::string::npos) return {};
  const bool trims = !std::string_view(chat.text).substr(at).starts_with(tag);
  chat.text.resize(at);
  if (trims) chat.text.resize(trim_right(chat.text).size());
  std::erase_if(chat.foreign,
                [&](const TextRange& range) { return range.begin >= chat.text.size(); });
  if (!chat.foreign.empty())
    chat.foreign.back().end = std::min(chat.foreign.back().end, chat.text.size());
  return chat;
}

RenderedChat JinjaTemplate::render(std::span<const ChatMessage> messages,
                                   const ChatRenderOptions& options) const {
  AdaptedChat adapted = chat::adapted(abilities(), messages, options);
  const bool continues = options.continue_final_message && !messages.empty() &&
                         messages.back().role == "assistant" && messages.back().tool_calls.empty();
  if (!continues) return first_that_works(adapted, options);
  constexpr std::string_view kTag = "wq7ContinuesHere ";
  ChatRenderOptions without_prompt = options;
  without_prompt.add_generation_prompt = false;
  adapted.messages.back().content += kTag;
  RenderedChat cut = continued(first_that_works(adapted, without_prompt), kTag);
  if (!cut.text.empty()) return cut;
  // The template does not show the message.
  adapted.messages.pop_back();
  without_prompt.add_generation_prompt = true;
  RenderedChat prompt = first_that_works(adapted, without_prompt);
  const std::string& content = messages.back().content;
  prompt.foreign.push_back({prompt.text.size(), prompt.text.size() + content.size()});
  prompt.text += content;
  return prompt;
}

}  // namespace

ChatTemplateError::ChatTemplateError(std::size_t line, std::size_t column, std::string message,
                                     Cause cause)
    : ValueError(fmt::format("chat template, line {}, column {}: {}", line, column, message)),
      line_(line),
      column_(column),
      message_(std::move(message)),
      cause_(cause) {}

std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text) {
  if (template_text.empty()) fail<ValueError>("the chat template is empty");
  if (template_text.size() > kMaxSource) {
    fail<ValueError>("the chat template has {} bytes, at most {} are supported",
                     template_text.size(), kMaxSource);
  }
  chat::check_utf8(template_text, "the chat template");
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
