// Conversations in files: what is taken from them, and which files are never replaced.
#include <fstream>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/prompt_cache.h"

#include "conversation/conversation_test_support.h"
#include "support/file_bytes.h"

namespace weft {
namespace {

using test::file_bytes;
using test::greedy;
using test::Said;
using test::Talk;
using test::TempFolder;

void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}
void put(const std::string& path, std::string_view text) {
  put(path, std::as_bytes(std::span(text)));
}

// What a prompt cache writes, or, with a note, some other program.
void put_prompt(const std::string& path, std::string_view note = {}) {
  Session session(test::stories(), {.context = 64});
  Generation prompt(session, 0);
  prompt.begin("Once upon a time");
  prompt.prefill();
  prompt.save(path, note);
}

// A conversation of one turn, saved with its cache, and how it goes on.
struct SavedTalk {
  explicit SavedTalk(const TempFolder& folder) : path((folder / "talk.chat").string()) {
    talk.say("Tell me a story.");
    CHECK(talk.chat.save(path));
    length = talk.session.length(0);
    bytes = file_bytes(path);
    next = talk.say("Who was it about?");
    fed = talk.chat.last_prompt().tokens;
  }
  Talk talk{greedy(12)};
  std::string path;
  std::vector<std::byte> bytes;
  std::int64_t length = 0, fed = 0;
  Said next;
};

TEST_CASE("a saved conversation continues from what was computed") {
  const TempFolder folder;
  const SavedTalk saved(folder);
  ConversationOptions options = greedy(12);
  options.system = "Something else.";
  Talk talk(options);
  const Conversation::Loaded loaded = talk.chat.load(saved.path);
  CHECK(loaded.n_messages == 3);
  CHECK(loaded.n_cached == saved.length);
  CHECK(loaded.why_not.empty());
  CHECK(talk.session.length(0) == saved.length);
  CHECK(talk.say("Who was it about?").text == saved.next.text);
  CHECK(talk.chat.last_prompt().tokens == saved.fed);
  talk.chat.reset();  // its system prompt is the conversation's now
  CHECK(talk.chat.messages().at(0).content == "Be brief.");
}

TEST_CASE("what cannot be used of a file is computed again, and the reason is reported") {
  const TempFolder folder;
  const SavedTalk saved(folder);
  struct Case {
    SessionOptions session;
    const char* why;
  };
  std::vector<Case> cases(3, Case{{}, ""});
  cases[0] = {{}, "it was saved with other adapters or scales, other cache types"};
  cases[0].session.cache_k = cases[0].session.cache_v = f32;
  cases[1] = {{}, "context"};
  cases[1].session.context = 32;
  cases[2] = {{}, "shared blocks"};
  cases[2].session.sequences = 2;
  cases[2].session.cells = 64;
  for (const Case& c : cases) {
    CAPTURE(c.why);
    Talk talk(greedy(12), c.session);
    if (c.session.cells > 0) talk.session.feed(1, std::vector<std::int32_t>{1});
    const Conversation::Loaded loaded = talk.chat.load(saved.path);
    CHECK(loaded.n_messages == 3);
    CHECK(loaded.n_cached == 0);
    CHECK(loaded.why_not.find(c.why) != std::string::npos);
    CHECK(talk.chat.messages().size() == 3);
    CHECK(talk.session.length(0) == 0);
  }
}

TEST_CASE("tools and variables of a file give way to those of the program") {
  const TempFolder folder;
  const std::string path = (folder / "talk.json").string();
  ConversationOptions own = greedy(4);
  own.tools = R"([{"type":"function","function":{"name":"own"}}])";
  own.kwargs = R"({"mood":"sad"})";
  put(path, R"({"messages": [], "tools": [{"type": "function", "function": {"name": "theirs"}}],
                "template_kwargs": {"mood": "merry"}})");
  const auto saved_again = [&](const ConversationOptions& options) {
    Talk talk(options);
    talk.chat.load(path);
    const std::string again = (folder / "again.json").string();
    talk.chat.save(again);
    const auto bytes = file_bytes(again);
    return parse_transcript({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, again);
  };
  CHECK(saved_again(greedy(4)).tools.find("theirs") != std::string::npos);
  CHECK(saved_again(greedy(4)).kwargs == R"({"mood":"merry"})");
  CHECK(saved_again(own).tools.find("own") != std::string::npos);
  CHECK(saved_again(own).kwargs == R"({"mood":"sad"})");
}

TEST_CASE("a file that is damaged or holds something else changes nothing") {
  const TempFolder folder;
  const SavedTalk saved(folder);
  const std::string path = (folder / "other").string();
  Talk talk(greedy(12)), untouched(greedy(12));
  talk.say("Tell me a story.");
  untouched.say("Tell me a story.");
  std::vector<std::byte> flipped = saved.bytes;
  flipped[300] ^= std::byte{1};
  put(path, flipped);
  CHECK_THROWS_AS(talk.chat.load(path), FormatError);
  put(path, std::span(saved.bytes).first(saved.bytes.size() - 9));
  CHECK_THROWS_AS(talk.chat.load(path), FormatError);
  put(path, R"({"messages": [{"role": "user", "content": "x"}], "tools": [5]})");
  CHECK_THROWS_AS(talk.chat.load(path), FormatError);
  put(path, "Once upon a time");
  CHECK_THROWS_AS(talk.chat.load(path), FormatError);
  put_prompt(path);
  CHECK_THROWS_WITH_AS(talk.chat.load(path),
                       doctest::Contains("a prompt cache, not a conversation"), UnsupportedError);
  CHECK_THROWS_AS(talk.chat.load((folder / "none").string()), IoError);
  CHECK(talk.chat.messages().size() == 3);
  CHECK(talk.say("Who was it about?").text == untouched.say("Who was it about?").text);
  CHECK(talk.chat.last_prompt().tokens == untouched.chat.last_prompt().tokens);
}

TEST_CASE("no file is replaced but an older conversation or an empty one") {
  const TempFolder folder;
  SavedTalk saved(folder);
  const auto refuses = [&](const std::string& path, const char* why) {
    CAPTURE(why);
    const auto before = file_bytes(path);
    CHECK_THROWS_WITH_AS(saved.talk.chat.save(path), doctest::Contains(why), UnsupportedError);
    CHECK_THROWS_WITH_AS(saved.talk.chat.save(path), doctest::Contains("not replaced"),
                         UnsupportedError);
    CHECK(file_bytes(path) == before);
  };
  for (const char* name : {"other", "other.json"}) {
    const std::string path = (folder / name).string();
    put_prompt(path);
    refuses(path, "a prompt cache, not a conversation");
    put_prompt(path, "a note of another program");
    refuses(path, ": not JSON: ");
    std::vector<std::byte> flipped = saved.bytes;
    flipped[300] ^= std::byte{1};
    put(path, flipped);
    refuses(path, ": damaged: ");
    put(path, "precious");
    refuses(path, "holds something other than a conversation");
    put(path, R"({"name": "precious"})");
    refuses(path, "has no messages");

    put(path, "");
    saved.talk.chat.save(path);
    CHECK_FALSE(file_bytes(path).empty());
    put(path, R"([{"role": "user", "content": "x"}])");
    saved.talk.chat.save(path);
    saved.talk.chat.save(path);
    Talk talk(greedy(1));
    CHECK(talk.chat.load(path).n_messages == saved.talk.chat.messages().size());
  }
  CHECK_THROWS_AS(saved.talk.chat.save((folder / "no/where").string()), IoError);
}

TEST_CASE("a conversation as text") {
  Talk talk(greedy(3));
  const Said said = talk.say("Tell me a story.");
  CHECK(talk.chat.text() ==
        "## system\n\nBe brief.\n\n## user\n\nTell me a story.\n\n"
        "## assistant\n\n" +
            said.text + "\n\n");
}

}  // namespace
}  // namespace weft
