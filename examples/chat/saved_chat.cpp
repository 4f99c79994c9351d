// Conversations that are saved and taken up again.
#include <filesystem>
#include <fstream>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/output_file.h"
#include "weft/run/saved_sequence.h"

#include "chat/chat.h"
#include "common/read_text.h"

namespace weft::chat {
namespace {

// Throws FormatError where the ids are not of the vocabulary.
void check_tokens(std::span<const TokenId> tokens, const Session& session,
                  const std::string& path) {
  const std::int64_t n_vocab = session.model().facts().n_vocab;
  for (const TokenId id : tokens) {
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("{}: token {} is outside the vocabulary of {}", printable_path(path), id,
                        n_vocab);
  }
}

// What is there under that name is a conversation, or nothing is. Throws UnsupportedError.
void check_replaceable(const std::string& path) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(path, absent) || SavedSequence::is_saved_sequence(path))
    return;
  std::ifstream file(path, std::ios::binary);
  char first = '\0';
  if (!file.get(first)) return;
  try {
    if (first != '{' && first != '[') fail<FormatError>("no JSON");
    parse_conversation(cli::read_text(path), path);
  } catch (const FormatError&) {
    fail<UnsupportedError>("{}: holds something else than a conversation: not replaced",
                           printable_path(path));
  }
}

}  // namespace

Conversation Chat::conversation() const {
  return {messages_, options_.tools, options_.chat_template.kwargs, ""};
}

std::string Chat::text() const {
  return to_text(conversation());
}

bool Chat::save(const std::string& path) {
  check_replaceable(path);
  Conversation saved = conversation();
  if (!path.ends_with(".json")) {
    saved.cached_text = cached_text_;
    try {
      save_sequence(session_, 0, cached_, to_json(saved), path);
      return true;
    } catch (const UnsupportedError&) {  // the memory of a device
      saved.cached_text.clear();
    }
  }
  OutputFile file(path);
  file.write(to_json(saved));
  file.commit();
  return false;
}

Chat::Loaded Chat::load(const std::string& path) {
  std::optional<SavedSequence> cache;
  std::string text;
  if (SavedSequence::is_saved_sequence(path)) {
    cache = SavedSequence::open(path);
    text = cache->note();
    if (text.empty())
      fail<UnsupportedError>("{}: is a cache of a prompt, not a conversation",
                             printable_path(path));
  } else {
    text = cli::read_text(path);
  }
  Conversation loaded = parse_conversation(text, path);
  if (!loaded.tools.empty()) ReplyParser({}, {.tools = loaded.tools});
  Loaded result{loaded.messages.size(), 0, ""};
  if (cache && !cache->fits(session_)) {
    result.why_not = "it was computed with another model, other cache types or other kernels";
  } else if (cache) {
    const auto tokens = cache->tokens();
    check_tokens(tokens, session_, path);
    try {
      cache->restore(session_, 0, std::ssize(tokens));
      cached_.assign(tokens.begin(), tokens.end());
      cached_text_ = loaded.cached_text;
      result.n_cached = std::ssize(tokens);
    } catch (const ValueError& error) {  // a shorter context
      result.why_not = error.what();
    } catch (const UnsupportedError& error) {
      result.why_not = error.what();
    }
  }
  messages_ = std::move(loaded.messages);
  const bool with_system = !messages_.empty() && messages_.front().role == "system";
  options_.system = with_system ? messages_.front().content : "";
  options_.tools = own_tools_.empty() ? loaded.tools : own_tools_;
  options_.chat_template.kwargs = own_kwargs_.empty() ? loaded.kwargs : own_kwargs_;
  sampler_.reset();
  if (result.n_cached > 0)
    for (const TokenId token : cached_) sampler_.accept(token);
  return result;
}

}  // namespace weft::chat
