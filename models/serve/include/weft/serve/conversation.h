#pragma once
// A conversation with a model: messages go in, replies come out as events. What the sequence has of
// it is not computed again: each turn feeds only the tokens that are new.
//
//   weft::Conversation conversation(session, 0, {.chat_template = std::move(chat_template)});
//   conversation.say("Hello", [](const weft::ReplyEvent& event) { std::cout << event.text; });
//
// Ownership and threads: as of Generation.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/reply/reply_parser.h"
#include "weft/serve/generation.h"
#include "weft/serve/transcript.h"
#include "weft/template/chat_template.h"

namespace weft {

struct ConversationOptions {
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model's
  std::string system = {};
  std::string tools = {};   // a JSON array of definitions; empty for none
  std::string kwargs = {};  // a JSON object of variables for the template; empty for none
  SamplerOptions sampler = {};
  TextRulesOptions rules = {};  // of every reply
  std::int64_t max_reply = -1;  // tokens; -1: until the model ends its turn or the context is full
  std::atomic<bool>* cancel = nullptr;  // GenerationOptions::cancel
};

struct Speed {
  std::int64_t tokens = 0;
  double seconds = 0;
};

class Conversation {
 public:
  // Throws UnsupportedError if there is no template, ChatTemplateError for a malformed one, and
  // like Generation.
  Conversation(Session& session, std::int32_t sequence, const ConversationOptions& options);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  using Show = std::function<void(const ReplyEvent&)>;

  // Takes the user's message and passes the reply to `show` as it comes; returns why it ended.
  // Throws ValueError, and forgets the message, if it does not fit into the context any more or the
  // template refuses it. A reply that was cut short stays in the conversation; a message that was
  // cancelled before any reply does not.
  StopReason say(std::string message, const Show& show);
  // The result of the first tool call that has none. With the last one the model goes on; before,
  // nothing ends (StopReason::none). REQUIRES: open_calls() is not empty.
  StopReason answer_call(std::string result, const Show& show);
  // The calls of the last reply that wait for their results.
  std::vector<ToolCall> open_calls() const;
  // Takes back the last message of the user with everything behind it and returns it; empty if
  // there is none.
  std::string take_back();
  void cancel() { generation_.cancel(); }  // the reply that is being written; from any thread

  void reset();                       // forgets everything but the system prompt
  void set_system(std::string text);  // and forgets the conversation

  // Writes the conversation to a file that appears when it is complete: as JSON if its name ends
  // with .json, otherwise together with the cache.
  // Returns whether the cache is in it. Throws IoError; UnsupportedError, and leaves the file as it
  // is, if one of that name is not empty and not a conversation: a prompt cache, any other file, or
  // a conversation that is damaged.
  bool save(const std::string& path) const;
  struct Loaded {
    std::size_t n_messages;
    std::int64_t n_cached;  // tokens that need not be computed
    std::string why_not;    // empty if the file's cache was taken, or it has none
  };
  // Goes on with the conversation in such a file. The computed part is taken if the same model
  // computed it in the same way; otherwise the next message computes it anew. Tools and template
  // variables come from the file if the options have none. Throws IoError; FormatError and
  // UnsupportedError if the file is damaged or holds something else: nothing has changed then.
  Loaded load(const std::string& path);
  std::string text() const;  // the conversation for people to read

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const Session& session() const { return generation_.session(); }
  std::int32_t sequence() const { return generation_.sequence(); }
  const Speed& last_prompt() const { return last_prompt_; }
  const Speed& last_reply() const { return last_reply_; }

 private:
  Transcript transcript() const;
  struct Prompt {
    std::vector<TokenId> tokens;
    std::string text;  // what they stand for
  };
  Prompt prompt() const;
  bool feed_prompt();
  StopReason take(ChatMessage message, const Show& show);
  StopReason reply(const Show& show, ChatMessage& message);
  bool shows_control(TokenId token) const;

  ConversationOptions options_;
  const std::string own_tools_, own_kwargs_;  // those that did not come from a file
  const Tokenizer& tokenizer_;
  Generation generation_;
  Draws draws_ = Draws::restart;  // of the next reply
  std::vector<ChatMessage> messages_;
  std::string cached_text_;  // what the sequence's tokens stand for; empty if that is not known
  std::vector<std::string> markers_;  // control tokens within these are shown to the reply's parser
  Speed last_prompt_, last_reply_;
};

}  // namespace weft
