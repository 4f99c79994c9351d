#include "weft/serve/conversation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/chat/reply_reader.h"
#include "weft/run/kept_texts.h"
#include "weft/run/modes.h"

#include "generation/generation_impl.h"

namespace weft {
namespace {

constexpr const char* kChoicePlace = "tool_choice";

std::shared_ptr<const ChatTemplate> template_of(const Vocabulary& vocabulary) {
  if (vocabulary.chat_template().empty())
    fail<UnsupportedError>("the model has no chat template (it may not be made for chats)");
  return make_chat_template(vocabulary.chat_template(), vocabulary.tool_template());
}

// A conversation enforces its constraint by the grammars of its turns.
const TextRulesOptions& without_grammar(const TextRulesOptions& rules) {
  if (rules.grammar)
    fail<ValueError>("a conversation takes a grammar as its constraint, not among its rules");
  return rules;
}

// Conversations grow by appending to what was computed, but an encoder reads its text as a whole.
const Model& without_encoder(const Model& model) {
  require(model, Feature::chats);
  return model;
}

bool is_empty(const ChatMessage& m, const std::string& prefill) {
  return m.content == prefill && m.reasoning.empty() && m.tool_calls.empty();
}

// Recurrent states can only be continued from marks: where the message begins, for another one in
// its place, and before the last token, for another reply.
void mark_prompt(const Generation& generation) {
  Session& session = generation.session();
  const std::int32_t sequence = generation.sequence();
  if (const std::int64_t n = session.length(sequence); n > 0) mark(session, sequence, n);
  mark(session, sequence, generation.n_prompt() - 1);
}

// Follows what the sequence lost since the last call. Returns how many tokens these are.
std::int64_t follow_drops(Generation& generation, HeldText& held) {
  Generation::Impl& text = serve::impl_of(generation);
  for (const std::vector<TokenRange>& kept : text.drops) held.drop(kept);
  text.drops.clear();
  return std::exchange(text.n_dropped, 0);
}

// Makes room for a prompt that begins with what the sequence holds, and for a reply. Returns how
// many tokens it dropped; 0: there is room, or nothing can be dropped.
std::int64_t make_room(Generation& generation, HeldText& held, std::int64_t n_prompt) {
  const std::int64_t context = generation.session().options().context;
  const std::int64_t n_more = n_prompt - std::ssize(generation.held());
  Generation::Impl& text = serve::impl_of(generation);
  if (n_prompt < context || n_more >= context) return 0;
  if (text.options.context_end.end == ContextEnd::stop || !serve::drop_held_tokens(text)) return 0;
  return follow_drops(generation, held);
}

}  // namespace

Conversation::Conversation(Session& session, std::int32_t sequence,
                           const ConversationOptions& options)
    : options_(options),
      own_tools_(options.tools),
      own_kwargs_(options.kwargs),
      format_{.tokenizer = &without_encoder(session.model()).tokenizer()},
      generation_(session, sequence,
                  {.sampler = options.sampler,
                   .rules = without_grammar(options.rules),
                   .max_tokens = options.max_reply,
                   .shows_control =
                       [this](TokenId id) { return std::ranges::find(shown_, id) != shown_.end(); },
                   .feed_last = true,
                   .draft = options.draft,
                   .max_guesses = options.max_guesses,
                   .context_end = options.context_end,
                   .cancel = options.cancel}) {
  if (!options_.chat_template)
    options_.chat_template = template_of(format_.tokenizer->vocabulary());
  format_ = chat_format(*format_.tokenizer, options_.chat_template);
  set_tools(options_.tools);
  check_tools(tools_, options_.tool_choice, kChoicePlace);
  compile_constraint(options_.constraint, format_.tokenizer->vocabulary());  // throws if malformed
  reset();
}

void Conversation::set_tools(const std::string& json) {
  tools_ = json.empty() ? std::vector<ChatTool>{} : parse_tools(json, "tools");
  options_.tools = json;
}

void Conversation::set_tool_choice(const ToolChoice& choice) {
  check_tools(tools_, choice, kChoicePlace);
  options_.tool_choice = choice;
}

void Conversation::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  sampler_start_ = SamplerStart::restart;
  if (n_dropped_ > 0) held_text_.clear();  // only what is exact is reused
  n_dropped_ = 0;
  // Keeps the sequence: a common beginning with the next conversation is reused.
}

void Conversation::set_system(std::string text) {
  options_.system = std::move(text);
  reset();
}

std::string Conversation::undo_turn() {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(),
                                 [](const ChatMessage& m) { return m.role == "user"; });
  if (last == messages_.rend()) return "";
  std::string text = last->content;
  messages_.erase(std::prev(last.base()), messages_.end());
  return text;
}

ChatTurn Conversation::turn(const std::string& prefill) const {
  ChatTurn turn{.messages = messages_,
                .tools = tools_,
                .tool_choice = options_.tool_choice,
                .parallel_calls = options_.parallel_calls,
                .constraint = options_.constraint,
                .kwargs = options_.kwargs,
                .choice_place = kChoicePlace,
                .tools_place = "tools"};
  const bool answers_user = messages_.back().role == "user";
  if (!answers_user && turn.tool_choice.kind != ToolChoice::Kind::none) turn.tool_choice = {};
  if (!prefill.empty()) turn.messages.push_back({"assistant", prefill});
  return turn;
}

StopReason Conversation::say(std::string message, const Show& show, const std::string& prefill) {
  if (!prefill.empty() && options_.constraint.kind != Constraint::Kind::none)
    fail<ValueError>(
        "a reply cannot begin with a given text if a grammar or schema says what it must be");
  return take({"user", std::move(message)}, show, prefill);
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

StopReason Conversation::take(ChatMessage message, const Show& show, const std::string& prefill) {
  const std::size_t before = messages_.size();
  messages_.push_back(std::move(message));
  MessageBuilder answer;
  StopReason end = StopReason::cancelled;
  try {
    const auto planned = [&] {
      return plan_turn(format_, turn(prefill), held_text_.of(generation_.held()));
    };
    ChatPlan plan = planned();
    while (const auto n = make_room(generation_, held_text_, std::ssize(plan.tokens))) {
      n_dropped_ += n;
      plan = planned();
    }
    if (feed_prompt(plan)) {
      if (!prefill.empty()) {
        const ReplyEvent first{.kind = ReplyEvent::Kind::content, .text = prefill};
        answer.take(first);
        show(first);
      }
      end = reply(plan.reading, show, answer);
    }
  } catch (...) {
    messages_.resize(before);
    drop_guesses(generation_);
    throw;
  }
  ChatMessage whole = answer.whole_message();
  if (end == StopReason::cancelled && is_empty(whole, prefill)) messages_.resize(before);
  if (messages_.size() > before) messages_.push_back(std::move(whole));
  return end;
}

// Returns false if cancelled.
bool Conversation::feed_prompt(ChatPlan& plan) {
  generation_.set_grammar(plan.grammar);
  serve::impl_of(generation_).continues_inexact = n_dropped_ > 0;
  generation_.begin(plan.tokens, sampler_start_);
  shown_ = plan.shown;
  sampler_start_ = SamplerStart::keep_state;
  held_text_.begin(std::move(plan.text));
  mark_prompt(generation_);
  const std::int64_t n_reused = generation_.n_reused();
  const auto start = Clock::now();
  if (!generation_.prefill()) return false;
  last_prompt_ = {generation_.n_prompt() - n_reused, seconds_since(start)};
  last_reused_ = n_reused;
  last_reply_ = {};
  held_text_.end(generation_.held().size());
  return true;
}

StopReason Conversation::reply(const ReplyReading& reading, const Show& show,
                               MessageBuilder& message) {
  ReplyReader reader(reading);
  std::string text = held_text_.text();
  const auto pass = [&](const std::vector<ReplyEvent>& events) {
    for (const ReplyEvent& event : events) {
      message.take(event);
      show(event);
    }
  };
  const auto start = Clock::now();
  StopReason end = StopReason::none;
  while (end == StopReason::none) {
    const GenerationEvent event = generation_.next();
    end = event.stop;
    text += event.text;
    pass(reader.push(event.text));
    last_reply_ = {generation_.n_new(), seconds_since(start)};
  }
  if (end != StopReason::cancelled && !generation_.feed_last()) end = StopReason::cancelled;
  n_dropped_ += follow_drops(generation_, held_text_);
  // A stop string is in the sequence, but not in the text.
  if (end != StopReason::cancelled && end != StopReason::stop_string) {
    held_text_.begin(std::move(text));
    held_text_.end(generation_.held().size());
  }
  pass(reader.finish(is_truncated(end)));
  return end;
}

}  // namespace weft
