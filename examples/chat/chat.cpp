#include "chat/chat.h"

#include <algorithm>
#include <utility>

#include "weft/graph/error.h"

#include "common/program.h"

namespace weft::chat {
namespace {

std::unique_ptr<const ChatTemplate> choose_template(const Vocabulary& vocabulary,
                                                    const std::string& name) {
  if (!name.empty()) return make_named_chat_template(name);
  if (!vocabulary.chat_template().empty()) return make_chat_template(vocabulary.chat_template());
  std::string names;
  for (const std::string_view known : chat_template_names())
    names.append(names.empty() ? "" : ", ").append(known);
  fail<UnsupportedError>(
      "the model has no chat template (it may not be made for chats); "
      "--chat-template names one: {}",
      names);
}

std::string text_of(const Vocabulary& vocabulary, TokenId id) {
  return id == kNoToken ? "" : std::string(vocabulary.text(id));
}

}  // namespace

Chat::Chat(Session& session, const SamplerOptions& sampler, const ChatOptions& options)
    : session_(session),
      tokenizer_(session.model().tokenizer()),
      vocabulary_(session.model().vocabulary()),
      options_(options),
      template_(choose_template(vocabulary_, options.template_name)),
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
                                                    .eos = text_of(vocabulary_, special.eos)});
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

ReplyEnd Chat::say(std::string message, const std::atomic<bool>& interrupted,
                   const std::function<void(std::string_view)>& print) {
  const std::size_t before = messages_.size();
  messages_.push_back({"user", std::move(message)});
  std::string text;
  ReplyEnd end = ReplyEnd::interrupted;
  try {
    const std::vector<TokenId> tokens = tokens_to_feed();
    const auto start = cli::Clock::now();
    feed(tokens, interrupted);
    last_prompt_ = {static_cast<std::int64_t>(tokens.size()), cli::seconds_since(start)};
    last_reply_ = {};
    end = reply(interrupted, print, text);
  } catch (const CancelledError&) {
    if (text.empty()) messages_.resize(before);
  } catch (...) {
    messages_.resize(before);
    throw;
  }
  if (messages_.size() > before) messages_.push_back({"assistant", std::move(text)});
  return end;
}

ReplyEnd Chat::reply(const std::atomic<bool>& interrupted,
                     const std::function<void(std::string_view)>& print, std::string& text) {
  Detokenizer detokenizer(tokenizer_);
  rules_.reset();
  const auto start = cli::Clock::now();
  const auto show = [&](std::string_view piece) {
    text += piece;
    cached_text_ += piece;
    print(piece);
  };
  ReplyEnd end = ReplyEnd::max_reply;
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
    show(rules_.show(detokenizer.push(token)));
    if (rules_.stopped()) cached_text_.clear();  // the cache has more than the text
    feed({&token, 1}, interrupted);
    last_reply_ = {n + 1, cli::seconds_since(start)};
    if (last || rules_.stopped()) {
      end = ReplyEnd::complete;
      break;
    }
  }
  show(rules_.show(detokenizer.finish()) + rules_.rest());
  if (rules_.stopped()) cached_text_.clear();
  return end;
}

}  // namespace weft::chat
