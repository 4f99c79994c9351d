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

#include "weft/reply/reply_parser.h"
#include "weft/run/session.h"
#include "weft/sample/sampler.h"
#include "weft/template/chat_template.h"
#include "weft/tokenize/tokenizer.h"

#include "chat/conversation.h"
#include "common/constraint_flags.h"
#include "common/template_flags.h"

namespace weft::chat {

struct ChatOptions {
  std::string system;
  cli::ConstraintFlags constraint;  // of every reply
  cli::TemplateFlags chat_template;
  std::string tools;            // a JSON array of definitions; empty for none
  std::int64_t max_reply = -1;  // tokens; -1: until the model ends its turn or the context is full
};

struct Speed {
  std::int64_t tokens = 0;
  double seconds = 0;
};

enum class ReplyEnd { complete, max_reply, context_full, interrupted };

class Chat {
 public:
  // Throws UnsupportedError where the model has no template, ChatTemplateError for a malformed one.
  Chat(Session& session, const SamplerOptions& sampler, const ChatOptions& options);

  using Show = std::function<void(const ReplyEvent&)>;

  // Takes the user's message and passes the reply to `show` as it comes. Throws ValueError, and
  // forgets the message, where it does not fit into the context any more or the template refuses
  // it. A reply that was cut short stays in the conversation; a message that was interrupted before
  // any reply does not.
  ReplyEnd say(std::string message, const std::atomic<bool>& interrupted, const Show& show);
  // The result of the first tool call that has none. With the last one the model goes on.
  // REQUIRES: open_calls() is not empty.
  ReplyEnd answer_call(std::string result, const std::atomic<bool>& interrupted, const Show& show);
  // The calls of the last reply that wait for their results.
  std::vector<ToolCall> open_calls() const;
  // Takes back the last message with its reply and returns it; empty where there is none.
  std::string take_back();

  // Writes the conversation to a file that appears when it is complete: as JSON where its name ends
  // with .json or the cache lies in the memory of a device, otherwise together with the cache.
  // Returns whether the cache is in it. Throws IoError; UnsupportedError where a file of that name
  // holds something else.
  bool save(const std::string& path);
  struct Loaded {
    std::size_t n_messages;
    std::int64_t n_cached;  // tokens that need not be computed
    std::string why_not;    // empty where the file's cache was taken, or has none
  };
  // Goes on with the conversation in such a file. The computed part is taken where it was computed
  // by the same model in the same way; otherwise the next message computes it anew. Tools and
  // template variables come from the file where the options that this was made with have none.
  // Throws IoError; FormatError and UnsupportedError where the file is damaged or holds something
  // else: nothing has changed then.
  Loaded load(const std::string& path);
  std::string text() const;  // the conversation for people to read

  void reset();                       // forgets everything but the system prompt
  void set_system(std::string text);  // and forgets the conversation

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const Session& session() const { return session_; }
  const Speed& last_prompt() const { return last_prompt_; }
  const Speed& last_reply() const { return last_reply_; }

 private:
  Conversation conversation() const;
  std::vector<TokenId> tokens_to_feed();
  std::vector<TokenId> encode(std::string_view text, std::span<const TextRange> foreign) const;
  void feed(std::span<const TokenId> tokens, const std::atomic<bool>& interrupted);
  ReplyEnd take(ChatMessage message, const std::atomic<bool>& interrupted, const Show& show);
  ReplyEnd reply(const std::atomic<bool>& interrupted, const Show& show, ChatMessage& message);
  // The text of a token as the reply's parser is to see it.
  std::string_view shown(TokenId token, const ReplyParser& parser, Detokenizer& detokenizer) const;

  Session& session_;
  const Tokenizer& tokenizer_;
  const Vocabulary& vocabulary_;
  ChatOptions options_;
  const std::string own_tools_, own_kwargs_;  // those that did not come from a file
  std::unique_ptr<const ChatTemplate> template_;
  Sampler sampler_;
  cli::TextRules rules_;
  std::vector<ChatMessage> messages_;
  std::vector<TokenId> cached_;  // the tokens in the cache,
  std::string cached_text_;      // and the text that they stand for
  Speed last_prompt_, last_reply_;
};

}  // namespace weft::chat
