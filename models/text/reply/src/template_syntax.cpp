// Finds the notation of a template by reading back its output.

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/reply/reply_parser.h"

#include "syntax.h"

namespace weft {
namespace {

constexpr std::string_view kTools =
    R"([{"type": "function", "function": {"name": "find_place", "description": "Finds a place.", )"
    R"("parameters": {"type": "object", "properties": {"place": {"type": "string", )"
    R"("description": "Its name."}, "count": {"type": "integer", "description": "How many."}}, )"
    R"("required": ["place", "count"]}}}])";
constexpr std::string_view kArguments = R"({"place": "Old \"Harbour\" 7", "count": 3})";

std::string rendered(const ChatTemplate& t, std::span<const ChatMessage> messages, bool prompt) {
  return t
      .render(messages, {.add_generation_prompt = prompt,
                         .bos = "<s>",
                         .eos = "</s>",
                         .tools = std::string(kTools),
                         .limits = {.steps = 1'000'000}})  // a hostile one may not take minutes
      .text;
}

// The text that the template writes for a call of the assistant, after a prompt.
struct WrittenCall {
  std::string prompt, reply;
};

// After the generation prompt, as far as the two agree; and after the user's message, which is
// right if the generation prompt ends within a marker.
std::vector<WrittenCall> written_calls(const ChatTemplate& t) {
  const std::vector<ChatMessage> messages = {
      {.role = "user", .content = "Hi"},
      {.role = "assistant",
       .content = "",
       .tool_calls = {{"abc123xyz", "find_place", std::string(kArguments)}}}};
  const std::string all = rendered(t, messages, false);
  std::vector<WrittenCall> written;
  for (const bool prompted : {true, false}) {
    const std::string prompt = rendered(t, std::span(messages).first(1), prompted);
    const auto differ = std::ranges::mismatch(prompt, all);
    const auto n = static_cast<std::size_t>(differ.in1 - prompt.begin());
    written.push_back({prompt.substr(0, n), all.substr(n)});
  }
  return written;
}

// Bytes beside the call that the notation reads, equal, from the reply; nullopt if it does not.
std::optional<std::size_t> bytes_beside(const ReplySyntax& syntax, const WrittenCall& written) {
  ReplyParser parser(syntax, {.prompt = written.prompt, .tools = std::string(kTools)});
  std::vector<ReplyEvent> events = parser.push(written.reply);
  for (ReplyEvent& event : parser.finish()) events.push_back(std::move(event));
  std::string name, arguments;
  std::size_t n_calls = 0, n_beside = 0;
  for (const ReplyEvent& event : events) {
    using Kind = ReplyEvent::Kind;
    if (event.kind == Kind::call_begin) name = event.text, arguments.clear();
    if (event.kind == Kind::call_arguments) arguments += event.text;
    if (event.kind == Kind::call_end) ++n_calls;
    if (event.kind == Kind::content || event.kind == Kind::reasoning) n_beside += event.text.size();
    if (event.kind == Kind::call_dropped) return std::nullopt;
  }
  using Json = nlohmann::json;
  const bool equal = n_calls == 1 && name == "find_place" &&
                     Json::parse(arguments, nullptr, false) == Json::parse(kArguments);
  return equal ? std::optional(n_beside) : std::nullopt;
}

// The notation that reads the call and leaves the least: others may find it within their own.
TemplateSyntax read_back(const ReplySyntax& guess, const std::vector<WrittenCall>& written) {
  TemplateSyntax best{.syntax = guess};
  std::vector<std::string> names;
  if (!guess.calls.empty()) names.push_back(guess.calls);
  for (const std::string_view name : call_syntax_names()) names.emplace_back(name);
  for (const WrittenCall& one : written) {
    std::size_t least = std::string::npos;
    for (const std::string& name : names) {
      const ReplySyntax syntax{guess.reasoning, name};
      const std::optional<std::size_t> n = bytes_beside(syntax, one);
      if (!n || *n >= least) continue;
      least = *n;
      best = {syntax, true};
    }
    if (best.round_trip) break;
  }
  return best;
}

}  // namespace

TemplateSyntax template_syntax(const ChatTemplate& chat_template) {
  const ChatTemplate& t = chat_template.for_tools();
  TemplateSyntax found{.syntax = reply_syntax(t.source())};
  const TemplateAbilities& can = t.abilities();
  if (!can.calls) {
    // The prompt asks for it, or the model has learned another one.
    if (!can.tools) found.syntax.calls = "json";
    return found;
  }
  try {
    return read_back(found.syntax, written_calls(t));
  } catch (const Error&) {
    return found;  // it needs something that is not known here
  }
}

}  // namespace weft
