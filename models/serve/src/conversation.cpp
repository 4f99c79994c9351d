#include "weft/serve/conversation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/reply/call_writer.h"
#include "weft/serve/prompt.h"

namespace weft {
namespace {

std::shared_ptr<const ChatTemplate> template_of(const Vocabulary& vocabulary) {
  if (vocabulary.chat_template().empty())
    fail<UnsupportedError>("the model has no chat template (it may not be made for chats)");
  return make_chat_template(vocabulary.chat_template(), vocabulary.tool_template());
}

// Adds an event to the message of the reply.
void keep(const ReplyEvent& event, ChatMessage& message, std::vector<ToolCall>& calls) {
  const auto n = static_cast<std::size_t>(event.call);
  switch (event.kind) {
    case ReplyEvent::Kind::content:
      message.content += event.text;
      break;
    case ReplyEvent::Kind::reasoning:
      message.reasoning += event.text;
      break;
    case ReplyEvent::Kind::call_begin:
      calls.resize(n + 1);
      calls[n] = {event.id, event.text, ""};
      break;
    case ReplyEvent::Kind::call_arguments:
      calls[n].arguments += event.text;
      break;
    case ReplyEvent::Kind::call_end:
      if (!event.id.empty()) calls[n].id = event.id;
      // Some templates require an id of nine letters and digits.
      if (calls[n].id.empty()) calls[n].id = fmt::format("call{:05}", message.tool_calls.size());
      message.tool_calls.push_back(calls[n]);
      break;
    case ReplyEvent::Kind::call_dropped:
      break;
  }
}

// Conversations grow by appending to what was computed, but an encoder reads its text as a whole.
const Model& without_encoder(const Model& model) {
  if (!model.facts().encodes) return model;
  fail<UnsupportedError>("{}: chats with a model that has an encoder are not supported",
                         model.file().path());
}

bool is_empty(const ChatMessage& m) {
  return m.content.empty() && m.reasoning.empty() && m.tool_calls.empty();
}

}  // namespace

Conversation::Conversation(Session& session, std::int32_t sequence,
                           const ConversationOptions& options)
    : options_(options),
      own_tools_(options.tools),
      own_kwargs_(options.kwargs),
      tokenizer_(without_encoder(session.model()).tokenizer()),
      generation_(session, sequence,
                  {.sampler = options.sampler,
                   .rules = options.rules,
                   .max_tokens = options.max_reply,
                   .shows_control = [this](TokenId id) { return shows_control(id); },
                   .feed_last = true,
                   .cancel = options.cancel}) {
  if (!options_.chat_template) options_.chat_template = template_of(tokenizer_.vocabulary());
  syntax_ = template_syntax(*options_.chat_template).syntax;
  reset();
}

void Conversation::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  sampler_start_ = SamplerStart::restart;
  // Keeps the sequence: a common beginning with the next conversation is reused.
}

void Conversation::set_system(std::string text) {
  options_.system = std::move(text);
  reset();
}

std::string Conversation::take_back() {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(),
                                 [](const ChatMessage& m) { return m.role == "user"; });
  if (last == messages_.rend()) return "";
  std::string text = last->content;
  messages_.erase(std::prev(last.base()), messages_.end());
  return text;
}

Conversation::Prompt Conversation::prompt() const {
  RenderedChat chat = render_chat(
      tokenizer_.vocabulary(), *options_.chat_template, messages_,
      {.tools = options_.tools, .kwargs = options_.kwargs, .write_calls = call_writer(syntax_)});
  std::vector<TokenId> tokens;
  std::size_t done = 0;
  if (!cached_text_.empty() && chat.text.size() > cached_text_.size() &&
      chat.text.starts_with(cached_text_)) {
    // The tokens that the model chose may differ from what the tokenizer would choose for the same
    // text, so they are kept.
    done = cached_text_.size();
    tokens.assign(generation_.held().begin(), generation_.held().end());
  }
  const std::vector<TokenId> rest = encode_chat(tokenizer_, chat, done);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return {std::move(tokens), std::move(chat.text)};
}

StopReason Conversation::say(std::string message, const Show& show) {
  return take({"user", std::move(message)}, show);
}

std::vector<ToolCall> Conversation::open_calls() const {
  std::size_t answered = 0;
  for (auto m = messages_.rbegin(); m != messages_.rend(); ++m) {
    if (m->role == "tool") {
      ++answered;
    } else {
      const auto& calls = m->tool_calls;
      if (answered >= calls.size()) return {};
      return {calls.begin() + static_cast<std::ptrdiff_t>(answered), calls.end()};
    }
  }
  return {};
}

StopReason Conversation::answer_call(std::string result, const Show& show) {
  const std::vector<ToolCall> open = open_calls();
  ChatMessage message{.role = "tool",
                      .content = std::move(result),
                      .tool_call_id = open.front().id,
                      .name = open.front().name};
  if (open.size() == 1) return take(std::move(message), show);
  messages_.push_back(std::move(message));
  return StopReason::none;
}

StopReason Conversation::take(ChatMessage message, const Show& show) {
  const std::size_t before = messages_.size();
  messages_.push_back(std::move(message));
  ChatMessage answer{.role = "assistant", .content = ""};
  StopReason end = StopReason::cancelled;
  try {
    if (feed_prompt()) end = reply(show, answer);
  } catch (...) {
    messages_.resize(before);
    throw;
  }
  if (end == StopReason::cancelled && is_empty(answer)) messages_.resize(before);
  if (messages_.size() > before) messages_.push_back(std::move(answer));
  return end;
}

// Returns false if cancelled.
bool Conversation::feed_prompt() {
  Prompt next = prompt();
  generation_.begin(next.tokens, sampler_start_);
  sampler_start_ = SamplerStart::keep_state;
  cached_text_.clear();  // unknown until all is fed; if that fails, the next turn compares tokens
  const std::int64_t n_reused = generation_.n_reused();
  const auto start = Clock::now();
  if (!generation_.prefill()) return false;
  last_prompt_ = {generation_.n_prompt() - n_reused, seconds_since(start)};
  last_reply_ = {};
  cached_text_ = std::move(next.text);
  return true;
}

// The parser gets the control tokens that mark reasoning and calls.
bool Conversation::shows_control(TokenId token) const {
  const std::string_view text = tokenizer_.bytes(token);
  return !text.empty() && std::ranges::any_of(markers_, [&](const std::string& marker) {
    return marker.find(text) != std::string::npos;
  });
}

StopReason Conversation::reply(const Show& show, ChatMessage& message) {
  ReplyParser parser(syntax_, {.prompt = cached_text_, .tools = options_.tools});
  markers_ = parser.markers();
  std::string text = std::exchange(cached_text_, "");
  std::vector<ToolCall> calls;
  const auto pass = [&](const std::vector<ReplyEvent>& events) {
    for (const ReplyEvent& event : events) {
      keep(event, message, calls);
      show(event);
    }
  };
  const auto start = Clock::now();
  StopReason end = StopReason::none;
  while (end == StopReason::none) {
    const GenerationEvent event = generation_.next();
    end = event.stop;
    text += event.text;
    pass(parser.push(event.text));
    last_reply_ = {generation_.n_new(), seconds_since(start)};
  }
  if (end != StopReason::cancelled && !generation_.feed_last()) end = StopReason::cancelled;
  // A stop string is in the sequence, but not in the text.
  if (end != StopReason::cancelled && end != StopReason::stop_string)
    cached_text_ = std::move(text);
  pass(parser.finish());
  return end;
}

}  // namespace weft
