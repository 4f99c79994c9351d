// Texts under grammars, beside others that must not wait for them.
#include "weft/base/error.h"
#include "weft/serve/engine.h"

#include "engine/engine_test_support.h"

namespace weft {
namespace {

using test::Collector;
using test::run;

// Every character is read in as many ways as there are parts.
std::shared_ptr<const Grammar> ambiguous(int n_parts) {
  std::string text = "root ::=";
  for (int i = 0; i < n_parts; ++i) text += " [a-z ]*";
  return Grammar::from_gbnf(text);
}

TextRequest story(const Model& model, std::int64_t max_tokens) {
  TextRequest request{.prompt = encode_prompt(model, "Once upon a time")};
  request.generation.max_tokens = max_tokens;
  request.generation.sampler.temperature = 0;
  return request;
}

TextRequest under(TextRequest request, std::shared_ptr<const Grammar> grammar) {
  request.generation.rules.grammar = std::move(grammar);
  return request;
}

TEST_CASE("a text whose grammar takes long makes no other wait") {
  const auto model = test::stories();
  Engine engine(model, {.slots = 2, .session = {.context = 200}});
  const auto slow = std::make_shared<Collector>();
  const RequestId id = engine.submit(under(story(*model, 20), ambiguous(8'000)), slow);
  // These end while the first token of the other one is looked for.
  for (int i = 0; i < 3; ++i) CHECK(run(engine, story(*model, 5))->text(0).tokens.size() == 5);
  const EngineState state = engine.state();
  CHECK(state.n_running == 1);
  CHECK((state.slots[0].n_new == 0 || state.slots[1].n_new == 0));
  engine.cancel(id);
  slow->wait();
  CHECK(slow->end(0).reason == StopReason::cancelled);
  CHECK(slow->end(0).n_new == 0);
}

TEST_CASE("a text whose grammar takes too much is an error of its request") {
  const auto model = test::stories();
  Engine engine(model, {.slots = 2, .session = {.context = 200}});
  // More ways than may be open at once, but not from the beginning.
  std::string text = "root ::= [a-z ]";
  for (int i = 0; i < 60'000; ++i) text += " [a-z ]*";
  const auto beside = std::make_shared<Collector>();
  engine.submit(story(*model, 60), beside);
  const auto stuck = run(engine, under(story(*model, 20), Grammar::from_gbnf(text)));
  REQUIRE(stuck->error());
  CHECK_THROWS_AS(std::rethrow_exception(stuck->error()), BudgetError);
  beside->wait();
  CHECK(beside->text(0).tokens.size() == 60);
}

TEST_CASE("a text under a grammar that is prepared in slices has its bits") {
  const auto model = test::stories();
  const TextRequest request = under(story(*model, 12), ambiguous(300));
  Session session(model, {.context = 200});
  const auto alone = test::write(session, request.generation, request.prompt);
  for (const std::int32_t texts : {1, 3}) {
    Engine engine(model, {.slots = 3, .session = {.context = 200}});
    TextRequest several = request;
    several.texts = texts;
    const auto beside = std::make_shared<Collector>();
    engine.submit(story(*model, 60), beside);
    const auto listener = run(engine, several);
    for (std::int32_t i = 0; i < texts; ++i) CHECK(listener->text(i).tokens == alone.tokens);
    beside->wait();
  }
}

TEST_CASE("texts of a request go different ways under one grammar that is prepared in slices") {
  const auto model = test::stories();
  TextRequest request = under(story(*model, 12), ambiguous(300));
  request.generation.sampler = {.seed = 5, .temperature = 2};
  std::vector<std::vector<TokenId>> alone;
  for (std::uint64_t i = 0; i < 3; ++i) {
    Session session(model, {.context = 200});
    GenerationOptions options = request.generation;
    options.sampler.seed += i;
    alone.push_back(test::write(session, options, request.prompt).tokens);
  }
  CHECK(alone[0] != alone[1]);
  CHECK(alone[1] != alone[2]);
  Engine engine(model, {.slots = 3, .session = {.context = 200}});
  request.texts = 3;
  const auto listener = run(engine, request);
  for (std::int32_t i = 0; i < 3; ++i)
    CHECK(listener->text(i).tokens == alone[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace weft
