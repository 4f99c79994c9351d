#pragma once
// What follows from how a template renders other turns of the same chat: where its messages begin,
// and what the next prompt will begin with.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/chat/chat_turn.h"

namespace weft {

// The tokens that the prompts of all next turns have at their beginning if the model answers with
// `reply`, as far as the template decides it: it may leave out the reasoning, and write the reply
// otherwise than the model did. Empty if the template refuses such turns.
std::vector<TokenId> next_prompt(const ChatFormat& format, ChatTurn turn, const ChatMessage& reply);

// Numbers of tokens of the prompt after which other chats are likely to go on differently: its
// first message, and all but the last one. `tokens`: the prompt of the turn.
std::vector<std::int64_t> message_borders(const ChatFormat& format, const ChatTurn& turn,
                                          std::span<const TokenId> tokens);

// How many tokens the prompt has in common with one of its first n messages alone; with n = 0, how
// many it has before the text of its first message.
std::int64_t n_tokens_of_messages(const ChatFormat& format, const ChatTurn& turn,
                                  std::span<const TokenId> tokens, std::size_t n);

// Where a token of the prompt is: "in message 3 (user), `..five tokens >next`", with > before the
// token.
std::string place_of(const ChatFormat& format, const ChatTurn& turn,
                     std::span<const TokenId> tokens, std::int64_t token);
// The text around a token: "..five tokens >next".
std::string text_around(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                        std::int64_t token);

}  // namespace weft
