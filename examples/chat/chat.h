#pragma once
// One conversation. What is already in the cache is not computed again: each turn feeds only the
// tokens that are new.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat_template.h"
#include "weft/models/sampler.h"
#include "weft/models/session.h"
#include "weft/models/tokenizer.h"

#include "common/constraint_flags.h"

namespace weft::chat {

struct ChatOptions {
  std::string system;
  std::string template_name;        // empty: the file's template
  cli::ConstraintFlags constraint;  // of every reply
  std::int64_t max_reply = -1;  // tokens; -1: until the model ends its turn or the context is full
};

struct Speed {
  std::int64_t tokens = 0;
  double seconds = 0;
};

enum class ReplyEnd { complete, max_reply, context_full, interrupted };

class Chat {
 public:
  // Throws UnsupportedError where the model has no template that is known.
  Chat(Session& session, const SamplerOptions& sampler, const ChatOptions& options);

  // Takes the user's message and passes the reply to `print` as it comes. Throws ValueError, and
  // forgets the message, where it does not fit into the context any more. A reply that was cut
  // short stays in the conversation; a message that was interrupted before any reply does not.
  ReplyEnd say(std::string message, const std::atomic<bool>& interrupted,
               const std::function<void(std::string_view)>& print);
  // Takes back the last message with its reply and returns it; empty where there is none.
  std::string take_back();

  void reset();                       // forgets everything but the system prompt
  void set_system(std::string text);  // and forgets the conversation

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const Session& session() const { return session_; }
  const Speed& last_prompt() const { return last_prompt_; }
  const Speed& last_reply() const { return last_reply_; }

 private:
  std::vector<TokenId> tokens_to_feed();
  std::vector<TokenId> encode(std::string_view text, std::span<const TextRange> foreign) const;
  void feed(std::span<const TokenId> tokens, const std::atomic<bool>& interrupted);
  ReplyEnd reply(const std::atomic<bool>& interrupted,
                 const std::function<void(std::string_view)>& print, std::string& text);

  Session& session_;
  const Tokenizer& tokenizer_;
  const Vocabulary& vocabulary_;
  ChatOptions options_;
  std::unique_ptr<const ChatTemplate> template_;
  Sampler sampler_;
  cli::TextRules rules_;
  std::vector<ChatMessage> messages_;
  std::vector<TokenId> cached_;  // the tokens in the cache,
  std::string cached_text_;      // and the text that they stand for
  Speed last_prompt_, last_reply_;
};

}  // namespace weft::chat
