#include "adapted_chat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/base/keyed_hash.h"
#include "weft/base/text.h"

#include "given_json.h"

namespace weft::chat {
namespace {

using Json = nlohmann::ordered_json;
using Messages = std::vector<ChatMessage>;

bool is_short(std::string_view id) {
  return id.size() == 9 && std::ranges::all_of(id, [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

std::string short_id(std::uint64_t number) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id(9, '0');
  for (char& c : id) {
    c = kDigits[number % kDigits.size()];
    number /= kDigits.size();
  }
  return id;
}

// Nine letters or digits for each id: the same in every turn of a conversation.
class ShortIds {
 public:
  void shorten(std::string& id) {
    if (id.empty()) return;
    const auto [at, is_new] = short_.try_emplace(id);
    if (is_new) {
      Fnv1a64 hash;
      hash.add(id);
      at->second = is_short(id) ? id : short_id(hash.value());
      while (!used_.insert(at->second).second) at->second = short_id(++n_taken_);
    }
    id = at->second;
  }

 private:
  ForeignMap<std::string, std::string> short_;
  ForeignSet<std::string> used_;
  std::uint64_t n_taken_ = 0;  // numbers of ids in place of those that were used
};

// The calls of a conversation, and which of them have a result. Linear in all of them.
class CallLog {
 public:
  void add(ToolCall& call) {
    for (std::size_t i = calls_.size(); call.id.empty(); ++i) {
      const std::string made = fmt::format("call_{}", i);
      if (!by_id_.contains(made)) call.id = made;
    }
    by_id_[call.id] = calls_.size();
    by_name_[call.name].calls.push_back(calls_.size());
    calls_.push_back({call.id, call.name});
  }

  // Gives a result without an id that of the first call without one, of its name if it has one; and
  // the name of its call.
  void answer(ChatMessage& result) {
    if (result.tool_call_id.empty()) {
      const std::size_t i = result.name.empty() ? first_open() : first_open(result.name);
      if (i < calls_.size()) result.tool_call_id = calls_[i].id;
    }
    const auto call = by_id_.find(result.tool_call_id);
    if (call == by_id_.end()) return;
    if (result.name.empty()) result.name = calls_[call->second].name;
    calls_[call->second].done = true;
  }

 private:
  struct Call {
    std::string id, name;
    bool done = false;
  };
  struct Named {
    std::vector<std::size_t> calls;
    std::size_t first = 0;  // those before have results
  };

  std::size_t first_open() {
    while (first_ < calls_.size() && calls_[first_].done) ++first_;
    return first_;
  }
  std::size_t first_open(const std::string& name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return calls_.size();
    Named& named = at->second;
    while (named.first < named.calls.size() && calls_[named.calls[named.first]].done) ++named.first;
    return named.first < named.calls.size() ? named.calls[named.first] : calls_.size();
  }

  std::vector<Call> calls_;
  ForeignMap<std::string, std::size_t> by_id_;
  ForeignMap<std::string, Named> by_name_;
  std::size_t first_ = 0;
};

// Calls and results without ids get them in their order, and results the names of their calls.
void match_results(Messages& messages) {
  CallLog calls;
  for (ChatMessage& m : messages) {
    for (ToolCall& call : m.tool_calls) calls.add(call);
    if (m.role == "tool") calls.answer(m);
  }
}

void shorten_ids(Messages& messages) {
  ShortIds ids;
  for (ChatMessage& m : messages) {
    for (ToolCall& call : m.tool_calls) ids.shorten(call.id);
    ids.shorten(m.tool_call_id);
  }
}

void append(std::string& text, std::string_view more, std::string_view between = "\n\n") {
  if (!text.empty() && !more.empty()) text += between;
  text += more;
}

// Puts all system messages into one at the beginning.
void join_system(Messages& messages) {
  std::string all;
  for (const ChatMessage& m : messages)
    if (m.role == "system") append(all, m.content);
  std::erase_if(messages, [](const ChatMessage& m) { return m.role == "system"; });
  messages.insert(messages.begin(), {.role = "system", .content = all});
}

// The system message becomes the beginning of the first user's.
void system_to_user(Messages& messages) {
  const auto user = std::ranges::find(messages, "user", &ChatMessage::role);
  std::string text = messages.front().content;
  if (user == messages.end()) {
    messages.front().role = "user";
    return;
  }
  append(text, user->content);
  user->content = text;
  messages.erase(messages.begin());
}

bool has_later_system(const Messages& messages) {
  for (std::size_t i = 1; i < messages.size(); ++i)
    if (messages[i].role == "system") return true;
  return false;
}

// As short as possible: it is in every prompt.
std::string tools_text(const std::string& tools, bool shows_calls) {
  std::string text = "You can call these functions:\n";
  for (const Json& tool : parse_given("the list of tools", tools))
    text += function_of(tool).dump() + "\n";
  if (!shows_calls)
    text += "To call one, answer only with JSON: {\"name\": .., \"arguments\": {..}}";
  return text;
}

void add_tools_text(Messages& messages, const std::string& text) {
  if (messages.empty() || messages.front().role != "system")
    messages.insert(messages.begin(), {.role = "system", .content = ""});
  append(messages.front().content, text);
}

// `marked`: between the tags that most templates use.
void calls_to_text(Messages& messages, bool marked) {
  for (ChatMessage& m : messages) {
    for (const ToolCall& call : std::exchange(m.tool_calls, {})) {
      const std::string arguments = call.arguments.empty() ? "{}" : call.arguments;
      check_given(fmt::format("a call's argument text ({})", call.name), arguments);
      std::string text =
          fmt::format(R"({{"name": {}, "arguments": {}}})", Json(call.name).dump(), arguments);
      if (marked) text = "<tool_call>\n" + text + "\n</tool_call>";
      append(m.content, text, "\n");
    }
  }
}

// Results become messages of the user: one for those that follow each other.
void results_to_user(Messages& messages) {
  Messages all;
  bool joins = false;
  for (ChatMessage& m : messages) {
    const bool result = m.role == "tool";
    if (result) {
      std::string text =
          fmt::format("Result{}{}:\n{}", m.name.empty() ? "" : " of ", m.name, m.content);
      m = {.role = "user", .content = std::move(text)};
    }
    if (result && joins)
      append(all.back().content, m.content, "\n");
    else if (m.role == "user" && joins)
      append(all.back().content, m.content);
    else
      all.push_back(std::move(m));
    joins = result || (joins && all.back().role == "user");
  }
  messages = std::move(all);
}

bool has_results(const Messages& messages) {
  return std::ranges::any_of(messages, [](const ChatMessage& m) { return m.role == "tool"; });
}

}  // namespace

bool has_calls(std::span<const ChatMessage> messages) {
  return std::ranges::any_of(messages, [](const ChatMessage& m) { return !m.tool_calls.empty(); });
}

std::vector<ChatMessage> with_joined_thoughts(std::vector<ChatMessage> messages) {
  for (ChatMessage& m : messages)
    if (!m.tool_calls.empty() && !m.reasoning.empty())
      append(m.reasoning, std::exchange(m.content, {}));
  return messages;
}

std::vector<ChatMessage> with_words_apart(std::vector<ChatMessage> messages) {
  Messages all;
  for (ChatMessage& m : messages) {
    if (!m.tool_calls.empty() && !trim(m.content).empty()) {
      all.push_back({.role = m.role,
                     .content = std::exchange(m.content, {}),
                     .reasoning = std::exchange(m.reasoning, {})});
    }
    all.push_back(std::move(m));
  }
  return all;
}

std::vector<ChatMessage> without_words_with_calls(std::vector<ChatMessage> messages) {
  for (ChatMessage& m : messages)
    if (!m.tool_calls.empty()) m.content.clear();
  return messages;
}

std::vector<ChatMessage> with_calls_apart(std::vector<ChatMessage> messages) {
  Messages all;
  for (std::size_t i = 0; i < messages.size();) {
    ChatMessage& m = messages[i++];
    if (m.tool_calls.size() < 2) {
      all.push_back(std::move(m));
      continue;
    }
    ForeignMap<std::string, Messages> results;  // by call
    for (const ToolCall& call : m.tool_calls) results[call.id];
    Messages unknown;
    for (; i < messages.size() && messages[i].role == "tool"; ++i) {
      const auto of = results.find(messages[i].tool_call_id);
      (of == results.end() ? unknown : of->second).push_back(std::move(messages[i]));
    }
    for (const ToolCall& call : std::exchange(m.tool_calls, {})) {
      all.push_back(std::exchange(m, {.role = "assistant", .content = ""}));
      all.back().tool_calls.push_back(call);
      std::ranges::move(std::exchange(results[call.id], {}), std::back_inserter(all));
    }
    std::ranges::move(unknown, std::back_inserter(all));
  }
  return all;
}

std::vector<ChatMessage> with_joined_neighbours(std::vector<ChatMessage> messages) {
  Messages all;
  for (ChatMessage& m : messages) {
    const bool joins = !all.empty() && all.back().role == m.role && m.role != "tool" &&
                       all.back().tool_calls.empty();
    if (!joins) {
      all.push_back(std::move(m));
      continue;
    }
    append(all.back().reasoning, m.reasoning);
    append(all.back().content, m.content);
    all.back().tool_calls = std::move(m.tool_calls);
  }
  return all;
}

AdaptedChat adapted(const TemplateAbilities& abilities, std::span<const ChatMessage> messages,
                    const ChatRenderOptions& options) {
  const std::string& tools = options.tools;
  AdaptedChat chat{{messages.begin(), messages.end()}, tools};
  Messages& all = chat.messages;
  match_results(all);
  if (!abilities.tools && !tools.empty()) {
    const bool has_system = !all.empty() && all.front().role == "system";
    add_tools_text(all, tools_text(tools, abilities.calls));
    if (!has_system && abilities.own_system) system_to_user(all);
    chat.tools.clear();
  }
  if (!abilities.calls && has_calls(all)) {
    if (abilities.tools && options.write_calls)
      chat.write_calls = &options.write_calls;
    else
      calls_to_text(all, abilities.tools);
  }
  if (!abilities.results && has_results(all)) results_to_user(all);
  if (!abilities.words_with_calls) all = with_words_apart(std::move(all));
  if (!abilities.many_calls) all = with_calls_apart(std::move(all));
  if (abilities.short_ids) shorten_ids(all);
  if (!abilities.later_system && has_later_system(all)) join_system(all);
  if (!abilities.system && !all.empty() && all.front().role == "system") system_to_user(all);
  return chat;
}

}  // namespace weft::chat
