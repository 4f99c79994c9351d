// Generations with models that have an encoder and a decoder: the prompt is the encoder's text.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/conversation.h"
#include "weft/serve/generation.h"
#include "weft/serve/prompt_cache.h"

#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;

namespace {

using Ids = std::vector<TokenId>;

const SessionOptions kTwo{.context = 64, .sequences = 2};
const GenerationOptions kGreedy{.sampler = {.temperature = 0}, .max_tokens = 8};

Ids rest(Generation& generation) {
  Ids ids;
  while (!generation.ended()) {
    const GenerationEvent event = generation.next();
    if (event.token != kNoToken) ids.push_back(event.token);
  }
  return ids;
}

Ids generate(const std::shared_ptr<const Model>& model, const Ids& prompt) {
  Session session(model, kTwo);
  Generation generation(session, 0, kGreedy);
  generation.begin(prompt);
  return rest(generation);
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("encoder: the prompt is its text, and the new tokens follow the start token") {
  const auto model = test::tiny_model({.arch = "t5"});
  const Ids prompt{7, 3, 11, 42}, other{9, 1, 30};
  Session session(model, kTwo);
  Generation generation(session, 0, kGreedy);
  generation.begin(prompt);
  CHECK(generation.n_text() == 4);
  CHECK(generation.n_prompt() == 1);
  CHECK(generation.prefill());
  CHECK(session.text(0).size() == 4);
  const Ids first = rest(generation);
  CHECK(first.size() == 8);
  CHECK(generation.tokens()[0] == model->facts().start);

  generation.begin(prompt);  // the text is not read again
  CHECK(session.text(0).size() == 4);
  CHECK(rest(generation) == first);
  generation.begin(other);
  CHECK(rest(generation) == generate(model, other));
  CHECK(session.text(0).size() == 3);
}

TEST_CASE("encoder: a batch, and a fork") {
  const auto model = test::tiny_model({.arch = "t5"});
  const Ids prompts[] = {{7, 3, 11, 42}, {9, 1, 30}};
  Session session(model, kTwo);
  Generation a(session, 0, kGreedy), b(session, 1, kGreedy);
  a.begin(prompts[0]);
  b.begin(prompts[1]);
  Batch batch(session);
  Generation* both[] = {&a, &b};
  Ids got[2];
  while (!a.ended() || !b.ended()) {
    for (const Batch::Event& e : batch.step(both))
      if (e.event.token != kNoToken) got[e.generation == &b].push_back(e.event.token);
  }
  CHECK(got[0] == generate(model, prompts[0]));
  CHECK(got[1] == generate(model, prompts[1]));

  a.begin(prompts[1]);
  a.next();
  Generation fork = a.fork(1);
  CHECK(rest(fork) == rest(a));
}

TEST_CASE("encoder: a prompt that is longer than a step is refused, and changes nothing") {
  const auto model = test::tiny_model({.arch = "t5"});
  Session session(model, {.context = 64, .prefill_width = 8});
  Generation generation(session, 0, kGreedy);
  const Ids prompt{7, 3, 11, 42};
  generation.begin(prompt);
  CHECK(error_of([&] { generation.begin(Ids(9, 5)); }) ==
        "the prompt has 9 tokens, the encoder reads at most 8 in one step");
  CHECK(rest(generation) == generate(model, prompt));
}

TEST_CASE("encoder: what is not supported is refused by name") {
  const auto model = test::tiny_model({.arch = "t5"});
  const std::string file = model->file().path();
  Session session(model, kTwo);
  CHECK(error_of([&] { Generation(session, 0, {.token_healing = true}); }) ==
        file + ": token healing with a model that has an encoder is not supported");
  CHECK(error_of([&] { Conversation(session, 0, {}); }) ==
        file + ": chats with a model that has an encoder are not supported");
  const test::TempFolder folder;
  Generation generation(session, 0, kGreedy);
  PromptCache cache((folder / "cache").string());
  std::string warning;
  CHECK(error_of([&] {
          cache.restore(generation, Ids{1, 2}, warning);
        }) == file + ": a prompt cache for a model with an encoder is not supported");
}
