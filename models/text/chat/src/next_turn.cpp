#include "weft/chat/next_turn.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

// Tokens that text_around() shows before and after the place.
constexpr std::int64_t kBefore = 6, kAfter = 4;

// The tokens of a turn that may be one that no template accepts; empty: it is.
std::vector<TokenId> tokens_of(const ChatFormat& format, const ChatTurn& turn) {
  try {
    return prompt_tokens(format, turn);
  } catch (const Error&) {
    return {};
  }
}

std::int64_t n_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

// What may follow the reply, in other words than any that is likely to come.
ChatTurn followed_by(ChatTurn turn, const ChatMessage& reply, const std::string& text) {
  for (const ToolCall& call : reply.tool_calls)
    turn.messages.push_back(
        {.role = "tool", .content = text, .tool_call_id = call.id, .name = call.name});
  if (reply.tool_calls.empty()) turn.messages.push_back({.role = "user", .content = text});
  return turn;
}

}  // namespace

std::vector<TokenId> next_prompt(const ChatFormat& format, ChatTurn turn,
                                 const ChatMessage& reply) {
  turn.messages.push_back(reply);
  std::vector<TokenId> tokens = tokens_of(format, followed_by(turn, reply, "a"));
  const std::vector<TokenId> other = tokens_of(format, followed_by(turn, reply, "1"));
  tokens.resize(static_cast<std::size_t>(n_common(tokens, other)));
  return tokens;
}

std::int64_t n_tokens_of_messages(const ChatFormat& format, const ChatTurn& turn,
                                  std::span<const TokenId> tokens, std::size_t n) {
  ChatTurn shorter = turn;
  if (n == 0 && !turn.messages.empty()) {  // another first message
    const std::string& own = turn.messages.front().content;
    shorter.messages = {
        {.role = turn.messages.front().role, .content = own.starts_with('a') ? "1" : "a"}};
  } else {
    shorter.messages.resize(n);
  }
  shorter.add_generation_prompt = shorter.continue_final_message = false;
  return n_common(tokens_of(format, shorter), tokens);
}

std::vector<std::int64_t> message_borders(const ChatFormat& format, const ChatTurn& turn,
                                          std::span<const TokenId> tokens) {
  std::vector<std::int64_t> borders;
  for (const std::size_t n : {std::size_t{1}, turn.messages.size() - 1}) {
    if (n == 0 || n >= turn.messages.size()) continue;
    const std::int64_t border = n_tokens_of_messages(format, turn, tokens, n);
    if (border > 0 && std::ranges::count(borders, border) == 0) borders.push_back(border);
  }
  return borders;
}

std::string text_around(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                        std::int64_t token) {
  const std::int64_t begin = std::max<std::int64_t>(0, token - kBefore);
  const std::int64_t end = std::min(token + kAfter, std::ssize(tokens));
  const auto text = [&](std::int64_t from, std::int64_t to) {
    const auto shown =
        tokens.subspan(static_cast<std::size_t>(from),
                       static_cast<std::size_t>(std::max(to - from, std::int64_t{0})));
    return tokenizer.decode(shown, {.show_special = true});
  };
  return (begin > 0 ? ".." : "") + text(begin, token) + ">" + text(token, end);
}

std::string place_of(const ChatFormat& format, const ChatTurn& turn,
                     std::span<const TokenId> tokens, std::int64_t token) {
  const std::string text = text_around(*format.tokenizer, tokens, token);
  if (turn.messages.empty()) return fmt::format("at `{}`", text);
  // The first messages up to the n-th have the token, those before it do not.
  std::size_t without = 0, with = turn.messages.size();
  while (with - without > 1) {
    const std::size_t n = (with + without) / 2;
    (n_tokens_of_messages(format, turn, tokens, n) > token ? with : without) = n;
  }
  return fmt::format("in message {} ({}), `{}`", with, turn.messages[with - 1].role, text);
}

}  // namespace weft
