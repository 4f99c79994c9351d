#include "chat_values.h"

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "arguments.h"
#include "given_json.h"

namespace weft::chat {
namespace {

using jinja::Dict;
using jinja::Foreign;
using jinja::Heap;
using jinja::List;
using jinja::Value;

Value foreign(Heap& heap, std::string_view text) {
  jinja::TextBuilder out;
  out.add_foreign(text);
  return Value::from(heap.str(std::move(out)));
}

std::string arguments_of(const ToolCall& call) {
  return fmt::format("a call's argument text ({})", call.name);
}

Value arguments_value(Heap& heap, const ToolCall& call, CallArguments style) {
  if (style == CallArguments::texts || call.arguments.empty()) return foreign(heap, call.arguments);
  const std::string what = arguments_of(call);
  if (style == CallArguments::repaired && !is_json_object(call.arguments))
    return from_json(heap, what, repaired_arguments(call.arguments), Foreign::all);
  return from_json(heap, what, call.arguments, Foreign::all);
}

Value calls_value(Heap& heap, const ChatMessage& message, CallArguments style) {
  List* calls = heap.list();
  for (const ToolCall& call : message.tool_calls) {
    Dict* function = heap.dict();
    function->set(heap, heap.text("name"), foreign(heap, call.name));
    function->set(heap, heap.text("arguments"), arguments_value(heap, call, style));
    Dict* one = heap.dict();
    if (!call.id.empty()) one->set(heap, heap.text("id"), foreign(heap, call.id));
    one->set(heap, heap.text("type"), heap.text("function"));
    one->set(heap, heap.text("function"), Value::from(function));
    calls->items.push_back(Value::from(one));
  }
  return Value::from(calls);
}

Value content_with_calls(Heap& heap, const ChatMessage& message, const CallWriter& write) {
  for (const ToolCall& call : message.tool_calls)
    if (!call.arguments.empty()) check_given(arguments_of(call), call.arguments);
  jinja::TextBuilder out;
  out.add_foreign(message.content);
  for (const CallText& calls : write(message.tool_calls)) {
    if (!out.text.empty()) out.add("\n");
    out.add(calls.open);
    out.add_foreign(calls.body);
    out.add(calls.close);
  }
  return Value::from(heap.str(std::move(out)));
}

void check_texts(const ChatMessage& message) {
  for (const std::string* text :
       {&message.role, &message.content, &message.reasoning, &message.name, &message.tool_call_id})
    check_utf8(*text, "a message");
  for (const ToolCall& call : message.tool_calls)
    for (const std::string* text : {&call.id, &call.name, &call.arguments})
      check_utf8(*text, "a tool call");
}

Value message_value(Heap& heap, const ChatMessage& message, const ValueStyle& style) {
  if (message.role.empty()) fail<ValueError>("a message has no role");
  check_texts(message);
  Dict* m = heap.dict();
  const auto set = [&](std::string_view key, const Value& v) { m->set(heap, heap.text(key), v); };
  set("role", foreign(heap, message.role));
  const bool writes_calls = style.write_calls && !message.tool_calls.empty();
  set("content", writes_calls ? content_with_calls(heap, message, *style.write_calls)
                              : foreign(heap, message.content));
  if (!message.reasoning.empty()) set(style.reasoning_member, foreign(heap, message.reasoning));
  if (!message.tool_calls.empty() && !writes_calls)
    set("tool_calls", calls_value(heap, message, style.arguments));
  if (!message.tool_call_id.empty()) set("tool_call_id", foreign(heap, message.tool_call_id));
  if (!message.name.empty()) set("name", foreign(heap, message.name));
  return Value::from(m);
}

}  // namespace

Value messages_value(Heap& heap, std::span<const ChatMessage> messages, const ValueStyle& style) {
  List* all = heap.list();
  for (const ChatMessage& message : messages)
    all->items.push_back(message_value(heap, message, style));
  return Value::from(all);
}

void check_utf8(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid)
      fail<FormatError>("{} is not UTF-8: byte {:#04x} at {}", what, text[at] & 0xff, at);
    at += c.length;
  }
}

}  // namespace weft::chat
