#pragma once
// A conversation with a model: takes messages, and emits replies as events. Each turn computes only
// the tokens that are new, also behind messages that were taken back. Models with recurrent states
// can only go back to where a message or a reply begins, as far as the session has room for marks
// (weft/run/kept_texts.h), and to their last checkpoints.
//
//   weft::Conversation conversation(session, 0, {.chat_template = std::move(chat_template)});
//   conversation.say("Hello", [](const weft::ReplyEvent& event) { std::cout << event.text; });
//
// Ownership and threads: as for Generation.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/chat/chat_turn.h"
#include "weft/chat/reply_sink.h"
#include "weft/serve/generation.h"
#include "weft/serve/held_text.h"
#include "weft/serve/transcript.h"
#include "weft/template/chat_template.h"

namespace weft {

struct ConversationOptions {
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model's
  std::string system = {};
  std::string tools = {};       // a JSON array of definitions; empty for none
  ToolChoice tool_choice = {};  // for replies to the user; what follows a tool's result is free
  bool parallel_calls = true;   // several calls in one reply
  std::string kwargs = {};      // a JSON object of variables for the template; empty for none
  Constraint constraint = {};   // for every reply
  SamplerOptions sampler = {};
  TextRulesOptions rules = {};  // for every reply; the constraint takes the place of its grammar
  std::int64_t max_reply = -1;  // tokens; -1: until the model ends its turn or the context is full
  // What a conversation does when the context is full. If it goes on, it forgets its oldest
  // messages, as GenerationOptions::context_end says: n_dropped().
  ContextEndOptions context_end = {};
  std::shared_ptr<Draft> draft = {};    // of replies: GenerationOptions::draft
  std::size_t max_guesses = 16;         // GenerationOptions::max_guesses
  std::atomic<bool>* cancel = nullptr;  // GenerationOptions::cancel
};

struct Speed {
  std::int64_t tokens = 0;
  double seconds = 0;
};

class Conversation {
 public:
  // Throws UnsupportedError if there is no template, ChatTemplateError for a malformed one,
  // FormatError for tools that are not definitions, ValueError for a choice of a tool that is
  // missing and for a grammar in the rules, and like compile_constraint() and Generation.
  Conversation(Session& session, std::int32_t sequence, const ConversationOptions& options);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  using Show = std::function<void(const ReplyEvent&)>;

  // Adds the user's message and passes the reply to `show` as it is generated; returns why it
  // ended. A reply with a `prefill` begins with it; `show` gets it, too. It cannot be held to a
  // constraint. Throws ValueError, and
  // drops the message, if it does not fit into the context or the template rejects it, and like
  // plan_turn(). An incomplete reply stays in the conversation; a message that was cancelled before
  // any reply does not.
  StopReason say(std::string message, const Show& show, const std::string& prefill = {});
  // Adds the result of the first open tool call. After the last one the model continues; until
  // then, returns StopReason::none. REQUIRES: open_calls() is not empty.
  StopReason answer_call(std::string result, const Show& show);
  // The calls of the last reply that have no result yet.
  std::vector<ToolCall> open_calls() const;
  // Removes the user's last message and everything after it, and returns that message; empty if
  // there is none.
  std::string undo_turn();
  void cancel() { generation_.cancel(); }  // stops the current reply; from any thread

  // ConversationOptions::tool_choice from now on. Throws ValueError for a tool that is missing.
  void set_tool_choice(const ToolChoice& choice);

  void reset();                       // removes everything but the system prompt
  void set_system(std::string text);  // removes everything else, too

  // Writes the conversation to a file that appears when it is complete: as JSON if its name ends
  // with .json, otherwise together with the cache. Returns whether it includes the cache. Throws
  // IoError; UnsupportedError, and leaves the file as it is, if a file of that name is not empty
  // and not a conversation: a prompt cache, any other file, or a damaged conversation.
  bool save(const std::string& path);
  struct Loaded {
    std::size_t n_messages;
    std::int64_t n_cached;  // tokens that need not be computed
    std::string why_not;    // why the file's cache was not used; empty if it was, or it has none
  };
  // Continues the conversation in such a file. Its cache is used if the same model computed it in
  // the same way; otherwise the next message computes it again. Tools and template variables come
  // from the file if the options have none. Throws IoError; FormatError and UnsupportedError if the
  // file is damaged or holds something else. After an exception nothing has changed.
  Loaded load(const std::string& path);
  std::string text() const;  // the conversation in readable form

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const Session& session() const { return generation_.session(); }
  std::int32_t sequence() const { return generation_.sequence(); }
  const Speed& last_prompt() const { return last_prompt_; }  // the tokens that were computed
  // Tokens of the conversation that were dropped since it began, or was reset.
  std::int64_t n_dropped() const { return n_dropped_; }
  std::int64_t last_reused() const { return last_reused_; }  // those before them, which were there
  const Speed& last_reply() const { return last_reply_; }

 private:
  Transcript transcript() const;
  void set_tools(const std::string& json);
  void restore(const SavedSequence& cache, const std::string& text, Loaded& result);
  ChatTurn turn(const std::string& prefill) const;
  StopReason take(ChatMessage message, const Show& show, const std::string& prefill = {});
  bool feed_prompt(ChatPlan& plan);
  StopReason reply(const ReplyReading& reading, const Show& show, MessageBuilder& message);

  ConversationOptions options_;
  const std::string own_tools_, own_kwargs_;  // those that did not come from a file
  ChatFormat format_;
  std::vector<ChatTool> tools_;
  std::vector<TokenId> shown_;  // ChatPlan::shown of the reply
  Generation generation_;
  SamplerStart sampler_start_ = SamplerStart::restart;  // for the next reply
  std::vector<ChatMessage> messages_;
  HeldText held_text_;  // what its sequence holds
  Speed last_prompt_, last_reply_;
  std::int64_t last_reused_ = 0;
  std::int64_t n_dropped_ = 0;
};

}  // namespace weft
