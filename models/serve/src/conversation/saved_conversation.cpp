// Saving and loading conversations.
#include <filesystem>
#include <fstream>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/read_file.h"
#include "weft/files/output_file.h"
#include "weft/run/saved_sequence.h"
#include "weft/serve/conversation.h"

namespace weft {
namespace {

std::string read_conversation(const std::string& path) {
  std::string text = read_file(path, kMaxFileBytes, SpecialFiles::refuse);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

constexpr const char* kIsCache = "a prompt cache, not a conversation";

// Throws FormatError or UnsupportedError, which say what the file is, unless it is a conversation.
void check_conversation(const std::string& path) {
  if (SavedSequence::is_saved_sequence(path)) {
    const SavedSequence saved = SavedSequence::open(path);
    if (saved.note().empty()) fail<UnsupportedError>("{}: {}", printable_path(path), kIsCache);
    parse_transcript(saved.note(), path);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  const int first = file.get();
  if (first != '{' && first != '[')
    fail<FormatError>("{}: holds something other than a conversation", printable_path(path));
  parse_transcript(read_conversation(path), path);
}

// Throws UnsupportedError unless the file is a conversation, empty, or not there.
void check_replaceable(const std::string& path) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(path, absent) ||
      std::filesystem::file_size(path, absent) == 0)
    return;
  try {
    check_conversation(path);
  } catch (const FormatError& error) {
    fail<UnsupportedError>("{}: not replaced", error.what());
  } catch (const UnsupportedError& error) {
    fail<UnsupportedError>("{}: not replaced", error.what());
  }
}

}  // namespace

Transcript Conversation::transcript() const {
  return {messages_, options_.tools, options_.kwargs, ""};
}

std::string Conversation::text() const {
  return to_text(transcript());
}

bool Conversation::save(const std::string& path) {
  check_replaceable(path);
  Transcript saved = transcript();
  if (!path.ends_with(".json") && n_dropped_ == 0) {
    const ComputedText known = held_text_.of(generation_.held());
    if (known.tokens.size() == generation_.held().size()) saved.cached_text = known.text;
    generation_.save(path, to_json(saved));
    return true;
  }
  OutputFile file(path, Readers::owner);
  file.write(to_json(saved));
  file.commit();
  return false;
}

// Continues from the cache of a file, or says in `result` why it cannot.
void Conversation::restore(const SavedSequence& cache, const std::string& text, Loaded& result) {
  const std::string why_not = cache.why_not(session(), generation_.sequence());
  if (!why_not.empty()) {
    result.why_not = "it " + why_not;
    return;
  }
  const std::int64_t n_tokens = std::ssize(cache.tokens());
  try {
    generation_.restore(cache, n_tokens);
    held_text_.clear();
    if (!text.empty()) {
      held_text_.begin(text);
      held_text_.end(generation_.held().size());
    }
    result.n_cached = n_tokens;
  } catch (const ValueError& error) {  // a shorter context
    result.why_not = error.what();
  } catch (const UnsupportedError& error) {
    result.why_not = error.what();
  } catch (const BudgetError& error) {  // a smaller pool of cells
    result.why_not = error.what();
  }
}

Conversation::Loaded Conversation::load(const std::string& path) {
  std::optional<SavedSequence> cache;
  std::string text;
  if (SavedSequence::is_saved_sequence(path)) {
    cache = SavedSequence::open(path);
    text = cache->note();
    if (text.empty()) fail<UnsupportedError>("{}: {}", printable_path(path), kIsCache);
  } else {
    text = read_conversation(path);
  }
  Transcript loaded = parse_transcript(text, path);
  const std::string& tools = own_tools_.empty() ? loaded.tools : own_tools_;
  const auto parsed = tools.empty() ? std::vector<ChatTool>{} : parse_tools(tools, "tools");
  check_tools(parsed, options_.tool_choice, "tool_choice");  // before anything changes
  Loaded result{loaded.messages.size(), 0, ""};
  if (n_dropped_ > 0) held_text_.clear();
  n_dropped_ = 0;
  if (cache) restore(*cache, loaded.cached_text, result);
  messages_ = std::move(loaded.messages);
  const bool with_system = !messages_.empty() && messages_.front().role == "system";
  options_.system = with_system ? messages_.front().content : "";
  set_tools(std::string(tools));
  options_.kwargs = own_kwargs_.empty() ? loaded.kwargs : own_kwargs_;
  sampler_start_ = SamplerStart::restart;
  return result;
}

}  // namespace weft
