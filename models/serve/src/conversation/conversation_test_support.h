#pragma once
// Conversations with the bundled model for tests.

#include <string>
#include <utility>
#include <vector>

#include "weft/chat/encode_chat.h"
#include "weft/serve/conversation.h"

#include "generation/generation_test_support.h"
#include "support/file_variant.h"
#include "support/temp_folder.h"

namespace weft::test {

// Always the most likely token.
inline ConversationOptions greedy(std::int64_t max_reply) {
  ConversationOptions options;
  options.system = "Be brief.";
  options.sampler.temperature = 0;
  options.max_reply = max_reply;
  return options;
}

struct Said {
  std::string text;
  StopReason stop = StopReason::none;
};

// A model with recurrent states and random weights, but the vocabulary of the bundled one.
inline std::shared_ptr<const Model> recurrent_stories() {
  static const auto model = [] {
    const auto& real = *stories();
    Files files;
    Variant made = files.made({.arch = "mamba", .sizes = {.V = real.facts().n_vocab}});
    for (const MetaEntry& entry : real.file().metadata())
      if (entry.key.starts_with("tokenizer.")) made.set(std::string(entry.key), entry.value);
    const std::string path = files.path();
    made.write(path);
    return Model::load(path);
  }();
  return model;
}

struct Talk {
  explicit Talk(const ConversationOptions& options, const SessionOptions& of_session = {},
                const std::shared_ptr<const Model>& model = stories())
      : session(model, with_context(of_session)), chat(session, 0, options) {}

  Said say(std::string message) {
    Said said;
    said.stop =
        chat.say(std::move(message), [&](const ReplyEvent& event) { said.text += event.text; });
    return said;
  }
  // Continues from the messages of another conversation, none of which are computed. REQUIRES: it
  // has `n_messages`.
  void take_over(Conversation& other, std::size_t n_messages) {
    const TempFolder folder;
    CHECK_FALSE(other.save((folder / "talk.json").string()));
    const Conversation::Loaded loaded = chat.load((folder / "talk.json").string());
    CHECK(loaded.n_messages == n_messages);
    CHECK(loaded.n_cached == 0);
    CHECK(loaded.why_not.empty());
  }

  Session session;
  Conversation chat;

 private:
  static SessionOptions with_context(SessionOptions options) {
    if (options.context == 0) options.context = 256;
    return options;
  }
};

// Tokens of a prompt with this system prompt and this message of the user.
inline std::int64_t encoded(const Conversation& chat,
                            const std::pair<std::string, std::string>& texts) {
  const Tokenizer& tokenizer = chat.session().model().tokenizer();
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  const std::vector<ChatMessage> messages{{"system", texts.first}, {"user", texts.second}};
  const auto chat_template = make_chat_template(vocabulary.chat_template());
  return std::ssize(encode_chat(tokenizer, render_chat(vocabulary, *chat_template, messages, {})));
}

}  // namespace weft::test
