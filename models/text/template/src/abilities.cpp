#include "abilities.h"

#include <vector>

#include "weft/base/error.h"

#include "adapted_chat.h"

namespace weft::chat {
namespace {

using Messages = std::vector<ChatMessage>;

// Words that no template has.
constexpr std::string_view kSystem = "wqsystem", kTool = "wqtool", kValue = "wqvalue",
                           kResult = "wqresult", kThought = "wqthought", kWords = "wqwords",
                           kOtherValue = "wqother";
constexpr std::string_view kShortId = "wq3456789", kLongId = "call_wq3456789012345678901234",
                           kOtherShortId = "wq9876543";

constexpr std::string_view kDefinitions =
    R"([{"type": "function", "function": {"name": "wqtool", "description": "Finds a place.", )"
    R"("parameters": {"type": "object", "properties": {"place": {"type": "string", )"
    R"("description": "A place."}}, "required": ["place"]}}}])";

ChatMessage call_of(std::string_view id) {
  return {.role = "assistant",
          .content = "",
          .tool_calls = {{std::string(id), std::string(kTool), R"({"place": "wqvalue"})"}}};
}

ChatMessage result_of(std::string_view id) {
  return {.role = "tool",
          .content = std::string(kResult),
          .tool_call_id = std::string(id),
          .name = std::string(kTool)};
}

// Never destroyed: threads may render while the process ends.
const ChatMessage& kUser = *new ChatMessage{.role = "user", .content = "Hi"};
const ChatMessage& kAnswer = *new ChatMessage{.role = "assistant", .content = "Hello"};

class Prober {
 public:
  explicit Prober(const PlainRender& render) : render_(render) {}

  // Whether a rendered conversation has the word.
  bool shows(std::string_view word, const Messages& messages) const {
    return render(messages).find(word) != std::string::npos;
  }
  // Whether it has the word and the call of call_of().
  bool shows_beside_call(std::string_view word, const Messages& messages) const {
    const std::string text = render(messages);
    return text.find(word) != std::string::npos && text.find(kValue) != std::string::npos;
  }
  std::size_t size(const Messages& messages) const { return render(messages).size(); }

  std::string tools, variable = "tools";
  std::string member = "reasoning_content";

 private:
  std::string render(const Messages& messages) const {
    for (const CallArguments arguments : {CallArguments::objects, CallArguments::texts}) {
      try {
        return render_(messages, tools, variable, {arguments, member});
      } catch (const Error&) {
      }
    }
    return "";
  }
  const PlainRender& render_;
};

std::string member_of_reasoning(Prober prober) {
  ChatMessage calls = call_of(kShortId);
  ChatMessage answers = kAnswer;
  calls.reasoning = answers.reasoning = kThought;
  for (const Messages& messages :
       {Messages{kUser, calls, result_of(kShortId)}, Messages{kUser, answers}}) {
    for (const char* member : {"reasoning_content", "thinking", "reasoning"}) {
      prober.member = member;
      if (prober.shows(kThought, messages)) return member;
    }
  }
  return TemplateAbilities().reasoning_member;
}

// False if the template shows words beside a call only in a message of their own.
bool shows_words_with_calls(const Prober& prober) {
  ChatMessage both = call_of(kShortId);
  both.content = kWords;
  const Messages history{kUser, both, result_of(kShortId)};
  return prober.shows_beside_call(kWords, history) ||
         !prober.shows_beside_call(kWords, with_words_apart(history));
}

// False if it shows two calls only in two messages.
bool shows_many_calls(const Prober& prober) {
  ChatMessage both = call_of(kShortId);
  both.tool_calls.push_back(
      {std::string(kOtherShortId), std::string(kTool), R"({"place": "wqother"})"});
  const Messages history{kUser, both, result_of(kShortId), result_of(kOtherShortId)};
  return prober.shows_beside_call(kOtherValue, history) ||
         !prober.shows_beside_call(kOtherValue, with_calls_apart(history));
}

// Where the template looks for definitions of tools; empty if it shows none.
std::string variable_of_tools(Prober prober) {
  const ChatMessage system{.role = "system", .content = "Be brief."};
  prober.tools = kDefinitions;
  for (const char* variable : {"tools", "xml_tools"}) {
    prober.variable = variable;
    if (prober.shows(kTool, {kUser}) || prober.shows(kTool, {system, kUser})) return variable;
  }
  return "";
}

}  // namespace

TemplateAbilities abilities_of(const PlainRender& render) {
  TemplateAbilities found;
  Prober prober(render);
  // Some go through the list of tools without asking whether there is one.
  if (prober.size({kUser}) == 0) prober.tools = "[]";
  if (prober.size({kUser}) == 0) return found;  // it needs something that is not known here
  const ChatMessage system{.role = "system", .content = std::string(kSystem)};
  found.system = prober.shows(kSystem, {system, kUser});
  found.later_system = found.system && prober.shows(kSystem, {kUser, kAnswer, system, kUser});
  found.own_system =
      found.system && prober.size({kUser}) + kSystem.size() > prober.size({system, kUser});
  const std::string variable = variable_of_tools(prober);
  found.tools = !variable.empty();
  if (found.tools) {
    found.tools_variable = prober.variable = variable;
    prober.tools = kDefinitions;
  }
  const Messages history{kUser, call_of(kShortId), result_of(kShortId)};
  found.calls = prober.shows(kValue, history);
  found.results = prober.shows(kResult, history);
  found.short_ids =
      found.calls && !prober.shows(kValue, {kUser, call_of(kLongId), result_of(kLongId)});
  if (found.calls) {
    found.words_with_calls = shows_words_with_calls(prober);
    found.many_calls = shows_many_calls(prober);
  }
  found.reasoning_member = member_of_reasoning(prober);
  return found;
}

}  // namespace weft::chat
