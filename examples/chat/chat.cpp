#include "chat/chat.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"

#include "common/program.h"

namespace weft::chat {
namespace {

std::string text_of(const Vocabulary& vocabulary, TokenId id) {
  return id == kNoToken ? "" : std::string(vocabulary.text(id));
}

}  // namespace

Chat::Chat(Session& session, const SamplerOptions& sampler, const ChatOptions& options)
    : session_(session),
      tokenizer_(session.model().tokenizer()),
      vocabulary_(session.model().vocabulary()),
      options_(options),
      own_tools_(options.tools),
      own_kwargs_(options.chat_template.kwargs),
      template_(cli::load_template(options.chat_template, vocabulary_)),
      sampler_(sampler),
      rules_(session.model(), options.constraint) {
  reset();
}

void Chat::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  sampler_.reset();
  // The cache stays: where the next conversation begins alike, that part is used again.
}

void Chat::set_system(std::string text) {
  options_.system = std::move(text);
  reset();
}

std::string Chat::take_back() {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(),
                                 [](const ChatMessage& m) { return m.role == "user"; });
  if (last == messages_.rend()) return "";
  std::string text = last->content;
  messages_.erase(std::prev(last.base()), messages_.end());
  return text;
}

std::vector<TokenId> Chat::encode(std::string_view text, std::span<const TextRange> foreign) const {
  return tokenizer_.encode(text, {.add_special = false, .parse_special = true, .foreign = foreign});
}

// Cuts the cache back to what it has in common with the conversation, and returns the rest.
std::vector<TokenId> Chat::tokens_to_feed() {
  const SpecialTokens& special = vocabulary_.special();
  RenderedChat chat = template_->render(messages_, {.bos = text_of(vocabulary_, special.bos),
                                                    .eos = text_of(vocabulary_, special.eos),
                                                    .tools = options_.tools,
                                                    .kwargs = options_.chat_template.kwargs});
  const std::string& text = chat.text;
  if (!cached_text_.empty() && text.size() > cached_text_.size() &&
      text.starts_with(cached_text_)) {
    // Tokens that the model chose need not be those that the tokenizer would choose for the same
    // text: the cache is continued where it is.
    const std::size_t done = cached_text_.size();
    const auto fed = [done](const TextRange& range) { return range.end <= done; };
    std::erase_if(chat.foreign, fed);
    for (TextRange& range : chat.foreign) {
      range.begin = std::max(range.begin, done) - done;
      range.end -= done;
    }
    cached_text_ = text;
    return encode(std::string_view(text).substr(done), chat.foreign);
  }
  const std::vector<TokenId> all = encode(text, chat.foreign);
  const auto common = std::mismatch(cached_.begin(), cached_.end(), all.begin(), all.end()).first;
  auto keep = static_cast<std::size_t>(common - cached_.begin());
  if (keep == all.size() && keep > 0) --keep;  // the last token's logits are needed
  session_.truncate(0, static_cast<std::int64_t>(keep));
  cached_.resize(keep);
  cached_text_ = text;
  return {all.begin() + static_cast<std::ptrdiff_t>(keep), all.end()};
}

void Chat::feed(std::span<const TokenId> tokens, const std::atomic<bool>& interrupted) {
  const auto before = static_cast<std::size_t>(session_.length(0));
  try {
    session_.feed(0, tokens, &interrupted);
  } catch (...) {
    const std::size_t fed = static_cast<std::size_t>(session_.length(0)) - before;
    cached_.insert(cached_.end(), tokens.begin(),
                   tokens.begin() + static_cast<std::ptrdiff_t>(fed));
    cached_text_.clear();  // known no longer; the next turn compares tokens
    throw;
  }
  cached_.insert(cached_.end(), tokens.begin(), tokens.end());
  for (const TokenId token : tokens) sampler_.accept(token);
}

ReplyEnd Chat::say(std::string message, const std::atomic<bool>& interrupted, const Show& show) {
  return take({"user", std::move(message)}, interrupted, show);
}

std::vector<ToolCall> Chat::open_calls() const {
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

ReplyEnd Chat::answer_call(std::string result, const std::atomic<bool>& interrupted,
                           const Show& show) {
  const std::vector<ToolCall> open = open_calls();
  ChatMessage message{.role = "tool",
                      .content = std::move(result),
                      .tool_call_id = open.front().id,
                      .name = open.front().name};
  if (open.size() == 1) return take(std::move(message), interrupted, show);
  messages_.push_back(std::move(message));
  return ReplyEnd::complete;
}

ReplyEnd Chat::take(ChatMessage message, const std::atomic<bool>& interrupted, const Show& show) {
  const std::size_t before = messages_.size();
  messages_.push_back(std::move(message));
  ChatMessage answer{.role = "assistant", .content = ""};
  ReplyEnd end = ReplyEnd::interrupted;
  const auto empty = [&] {
    return answer.content.empty() && answer.reasoning.empty() && answer.tool_calls.empty();
  };
  try {
    const std::vector<TokenId> tokens = tokens_to_feed();
    const auto start = cli::Clock::now();
    feed(tokens, interrupted);
    last_prompt_ = {static_cast<std::int64_t>(tokens.size()), cli::seconds_since(start)};
    last_reply_ = {};
    end = reply(interrupted, show, answer);
  } catch (const CancelledError&) {
    if (empty()) messages_.resize(before);
  } catch (...) {
    messages_.resize(before);
    throw;
  }
  if (messages_.size() > before) messages_.push_back(std::move(answer));
  return end;
}

// Control tokens are not shown, but for those that mark thoughts and calls.
std::string_view Chat::shown(TokenId token, const ReplyParser& parser,
                             Detokenizer& detokenizer) const {
  if (tokenizer_.hidden(token)) {
    const std::string_view text = tokenizer_.bytes(token);
    const auto& markers = parser.markers();
    const auto speaks_of_it = [&](const std::string& marker) {
      return !text.empty() && marker.find(text) != std::string::npos;
    };
    if (std::none_of(markers.begin(), markers.end(), speaks_of_it)) return {};
  }
  return detokenizer.push(token);
}

namespace {

// What a reply becomes part of.
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
      // Some templates want an id, of nine letters and digits.
      if (calls[n].id.empty()) calls[n].id = fmt::format("call{:05}", message.tool_calls.size());
      message.tool_calls.push_back(calls[n]);
      break;
    case ReplyEvent::Kind::call_dropped:
      break;
  }
}

}  // namespace

ReplyEnd Chat::reply(const std::atomic<bool>& interrupted, const Show& show, ChatMessage& message) {
  Detokenizer detokenizer(tokenizer_, {.decode = {.show_special = true}});
  ReplyParser parser(reply_syntax(template_->source()),
                     {.prompt = cached_text_, .tools = options_.tools});
  std::vector<ToolCall> calls;
  rules_.reset();
  const auto start = cli::Clock::now();
  const auto pass = [&](const std::vector<ReplyEvent>& events) {
    for (const ReplyEvent& event : events) {
      keep(event, message, calls);
      show(event);
    }
  };
  const auto add = [&](std::string_view piece) {
    cached_text_ += piece;
    pass(parser.push(piece));
  };
  ReplyEnd end = ReplyEnd::max_reply;
  try {
    for (std::int64_t n = 0; options_.max_reply < 0 || n < options_.max_reply; ++n) {
      const TokenId token = sampler_.sample(rules_.allowed(session_.logits()));
      if (vocabulary_.ends_generation(token)) {
        end = ReplyEnd::complete;
        break;
      }
      const bool last = rules_.accept(token);
      if (session_.length(0) == session_.options().context) {
        end = ReplyEnd::context_full;
        break;
      }
      add(rules_.show(shown(token, parser, detokenizer)));
      if (rules_.stopped()) cached_text_.clear();  // the cache has more than the text
      feed({&token, 1}, interrupted);
      last_reply_ = {n + 1, cli::seconds_since(start)};
      if (last || rules_.stopped()) {
        end = ReplyEnd::complete;
        break;
      }
    }
  } catch (const CancelledError&) {
    pass(parser.finish());
    throw;
  }
  add(rules_.show(detokenizer.finish()) + rules_.rest());
  pass(parser.finish());
  if (rules_.stopped()) cached_text_.clear();
  return end;
}

}  // namespace weft::chat
