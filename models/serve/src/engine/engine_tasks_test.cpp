// What engines do beside texts: logprobs of prompts, files of slots, scales of LoRAs, embeddings.
#include <filesystem>

#include "weft/base/error.h"
#include "weft/serve/engine.h"

#include "engine/engine_inbox.h"
#include "engine/engine_test_support.h"
#include "generation/text_model_test_support.h"
#include "support/made_adapter.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::collectors;
using test::made_prompt;
using test::made_request;
using test::run;
using test::tiny_model;
using test::written_alone;

TEST_CASE("logprobs of a prompt, whatever runs beside it") {
  const auto model = test::stories();
  Engine engine(model, {.slots = 3, .session = {.context = 300}});
  TextRequest request{.prompt = encode_prompt(*model, "Once upon a time there was a little girl")};
  request.generation.max_tokens = 3;
  request.generation.logprobs = 2;
  TextRequest others = request;
  others.generation.max_tokens = 40;
  const auto beside = collectors(2);
  for (const auto& listener : beside) engine.submit(others, listener);
  request.prompt_logprobs = true;
  const auto listener = run(engine, request);
  const PromptDone& prompt = listener->prompts().at(0);
  CHECK(prompt.n_reused == 0);
  CHECK(prompt.why_not_reused == "the request wants the logprobs of its prompt");
  const std::vector<TokenId>& tokens = request.prompt;
  REQUIRE(prompt.logprobs.size() == tokens.size() - 1);
  Session session(model, {.context = 300});
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    session.feed(0, std::span(tokens).subspan(i, 1));
    const TokenLogprobs expected =
        token_logprobs(model->tokenizer(), session.logits(), tokens[i + 1], 2);
    CHECK(prompt.logprobs[i].chosen.token == tokens[i + 1]);
    CHECK(prompt.logprobs[i].chosen.logprob == expected.chosen.logprob);
    REQUIRE(prompt.logprobs[i].top.size() == 2);
    CHECK(prompt.logprobs[i].top[0].token == expected.top[0].token);
  }
  CHECK(listener->logprobs(0).size() == 3);
  // And without any new token.
  request.generation.max_tokens = 0;
  const auto none = run(engine, request);
  CHECK(none->text(0).tokens.empty());
  REQUIRE(none->prompts().at(0).logprobs.size() == tokens.size() - 1);
  CHECK(none->prompts()[0].logprobs[3].chosen.logprob == prompt.logprobs[3].chosen.logprob);
  CHECK(none->text(0).stop == StopReason::max_tokens);
  for (const auto& l : beside) l->wait();
}

TEST_CASE("slots in files") {
  const test::TempFolder folder;
  const std::string path = (folder / "slot.bin").string();
  const auto model = tiny_model();
  const TextRequest request = made_request(1, 100, 10);
  std::int32_t slot = 0;
  {
    Engine engine(model, {.slots = 2, .session = {.context = 400}});
    slot = run(engine, request)->prompts()[0].slot;
    const auto saved = engine.save_slot(slot, path).get();
    CHECK(saved.n_tokens == 109);
    CHECK(saved.n_bytes == static_cast<std::int64_t>(std::filesystem::file_size(path)));
    CHECK_THROWS_AS(engine.save_slot(2, path).get(), ValueError);
    CHECK_THROWS_AS(engine.save_slot(0, (folder / "no/such/folder").string()).get(), IoError);
  }
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  CHECK(engine.restore_slot(1, path).get().n_tokens == 109);
  CHECK(engine.state().slots[1].n_held == 109);
  const auto listener = run(engine, request);
  CHECK(listener->prompts()[0].n_reused == 99);
  CHECK(listener->prompts()[0].slot == 1);
  CHECK(listener->text(0).tokens == written_alone(model, request).tokens);

  SUBCASE("erased") {
    CHECK(engine.erase_slot(1).get() == 109);
    CHECK(engine.erase_slot(1).get() == 0);
    CHECK(engine.state().slots[1].n_held == 0);
  }
  SUBCASE("damaged or of another model: the slot stays") {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
    CHECK_THROWS_AS(engine.restore_slot(1, path).get(), FormatError);
    Engine other(tiny_model({.sizes = {.L = 3}}), {.slots = 1, .session = {.context = 400}});
    run(other, request);
    other.save_slot(0, path).get();
    CHECK_THROWS_AS(engine.restore_slot(1, path).get(), ValueError);
    CHECK(engine.state().slots[1].n_held == 109);
    CHECK(run(engine, request)->prompts()[0].n_reused == 99);
  }
  SUBCASE("busy") {
    TextRequest endless = made_request(2, 5, 390);
    endless.slot = 0;
    const auto busy = std::make_shared<test::Collector>();
    const RequestId id = engine.submit(endless, busy);
    busy->wait_for_tokens(1);
    if (engine.state().slots[0].busy) CHECK_THROWS_AS(engine.save_slot(0, path).get(), ValueError);
    engine.cancel(id);
    busy->wait();
  }
}

TEST_CASE("a slot from a file reuses as much as one in memory, whatever the model remembers") {
  const test::TempFolder folder;
  const std::string path = (folder / "slot.bin").string();
  for (const std::string arch : {"mixed", "llama", "qwen35", "gemma3"}) {
    CAPTURE(arch);
    const auto model = arch == "mixed" ? test::mixed_model() : tiny_model({.arch = arch});
    const EngineOptions options{.slots = 2, .session = {.context = 400, .prefill_width = 64}};
    TextRequest same = made_request(1, 150, 10), longer = same, other = same;
    same.slot = longer.slot = other.slot = 0;
    longer.prompt.push_back(3);
    other.prompt[140] = (other.prompt[140] + 1) % test::kTinyVocabulary;
    for (const TextRequest& next : {same, longer, other}) {
      std::int64_t n_in_memory = 0;
      {
        Engine engine(model, options);
        run(engine, same);
        engine.save_slot(0, path).get();
        const auto listener = run(engine, next);
        n_in_memory = listener->prompts().at(0).n_reused;
      }
      Engine engine(model, options);
      engine.restore_slot(0, path).get();
      const auto listener = run(engine, next);
      CHECK(listener->prompts().at(0).n_reused == n_in_memory);
      CHECK(n_in_memory >= 128);
      CHECK(listener->text(0).tokens == written_alone(model, next).tokens);
    }
  }
}

TEST_CASE("a slot from a file has the end of its prompt, also after a long text") {
  const test::TempFolder folder;
  const std::string path = (folder / "slot.bin").string();
  const auto model = tiny_model({.arch = "qwen35"});
  const EngineOptions options{.slots = 2, .session = {.context = 600, .prefill_width = 64}};
  const TextRequest same = made_request(1, 150, 330);
  TextRequest longer = same;
  longer.prompt.push_back(3);
  std::int64_t n_in_memory = 0;
  {
    Engine engine(model, options);
    engine.save_slot(run(engine, same)->prompts()[0].slot, path).get();
    n_in_memory = run(engine, longer)->prompts().at(0).n_reused;
    CHECK(n_in_memory == 149);
  }
  for (const std::int32_t slot : {0, 1}) {
    Engine engine(model, options);
    engine.restore_slot(slot, path).get();
    CHECK(engine.state().slots[static_cast<std::size_t>(slot)].n_held == 479);
    const auto listener = run(engine, longer);
    CHECK(listener->prompts().at(0).n_reused == n_in_memory);
    CHECK(listener->text(0).tokens == written_alone(model, longer).tokens);
    CHECK(run(engine, same)->text(0).tokens == written_alone(model, same).tokens);
  }
}

TEST_CASE("embeddings while texts run") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 400, .prefill_width = 32}});
  std::vector<TypedTokens> texts;
  for (int i = 0; i < 9; ++i) texts.push_back(made_prompt(i, 5 + 20 * i));
  const auto beside = collectors(3);
  for (int i = 0; i < 3; ++i)
    engine.submit(made_request(i, 40, 60), beside[static_cast<std::size_t>(i)]);
  for (const Pooling pooling : {Pooling::mean, Pooling::last, Pooling::mean}) {
    const EmbedderOptions options{.pooling = pooling, .max_tokens = 300};
    const auto got = engine.embed(texts, options).get();
    const auto expected = Embedder(model, options).embed(texts);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].values == expected[i].values);
  }
  CHECK_THROWS_AS(engine.embed({TypedTokens()}, {}).get(), ValueError);
  CHECK_THROWS_AS(engine.embed({std::vector<TokenId>{1}}, {.norm = -5}).get(), ValueError);
  for (std::size_t i = 0; i < 3; ++i) {
    beside[i]->wait();
    CHECK(beside[i]->text(0).tokens ==
          written_alone(model, made_request(static_cast<int>(i), 40, 60)).tokens);
  }
}

TEST_CASE("an embedding is cancelled by its flag and by the destructor") {
  const auto model = tiny_model();
  std::future<std::vector<Embedding>> left;
  const std::vector<TypedTokens> texts(4000, made_prompt(1, 200));
  {
    Engine engine(model, {.slots = 1, .session = {.context = 400}});
    const auto cancel = std::make_shared<std::atomic<bool>>(false);
    auto cancelled = engine.embed(texts, {}, cancel);
    // Texts run beside it.
    CHECK(run(engine, made_request(1, 10, 5))->text(0).tokens.size() == 5);
    *cancel = true;
    CHECK_THROWS_AS(cancelled.get(), CancelledError);
    left = engine.embed(texts, {});
  }
  CHECK_THROWS_AS(left.get(), CancelledError);
}

TEST_CASE("embeddings that wait are bounded") {
  Engine engine(tiny_model(), {.slots = 1, .max_waiting = 1, .session = {.context = 400}});
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  const std::vector<TypedTokens> texts(4000, made_prompt(1, 200));
  auto running = engine.embed(texts, {}, cancel);
  auto waiting = engine.embed(texts, {}, cancel);
  CHECK_THROWS_AS(engine.embed(texts, {}, cancel), QueueFullError);
  *cancel = true;
  CHECK_THROWS_AS(running.get(), CancelledError);
  CHECK_THROWS_AS(waiting.get(), CancelledError);
  CHECK(engine.embed({std::vector<TokenId>{1, 2}}, {}).get().size() == 1);
}

TEST_CASE("norms and cut texts of embeddings, by call") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 1, .session = {.context = 400}});
  const std::vector<TypedTokens> texts{made_prompt(1, 50), made_prompt(2, 300)};
  for (const int norm : {kEuclidean, kNotNormalized, kMaxInt16}) {
    const EmbedderOptions options{.norm = norm, .truncate = true, .max_tokens = 100};
    const auto got = engine.embed(texts, options).get();
    const auto expected = Embedder(model, options).embed(texts);
    for (std::size_t i = 0; i < 2; ++i) CHECK(got[i].values == expected[i].values);
    CHECK_THROWS_AS(engine.embed(texts, {.norm = norm, .max_tokens = 100}).get(), ValueError);
  }
}

TEST_CASE("an inbox after everything has failed") {
  serve::EngineInbox inbox(2, 1);
  const auto request = [] {
    auto made = std::make_shared<serve::EngineRequest>();
    made->wanted.texts = 3;
    return made;
  };
  serve::EngineInbox::Requests received;
  std::deque<serve::EngineInbox::Task> tasks;
  for (int round = 0; round < 3; ++round) {
    const RequestId first = inbox.submit(request());
    CHECK(inbox.receive(true, received, tasks));
    inbox.text_starts(*received.back(), 0);
    inbox.submit(request());
    const auto failed = inbox.fail_all();
    CHECK(failed.size() == 2);
    CHECK(failed.contains(first));
    received.clear();
    CHECK(inbox.receive(true, received, tasks));
    CHECK(received.empty());
    CHECK(inbox.state().n_waiting == 0);
    CHECK(inbox.state().n_running == 0);
    CHECK_FALSE(inbox.state().slots[0].busy);
    CHECK(inbox.state().counters.failed == static_cast<std::uint64_t>(2 * (round + 1)));
  }
}

TEST_CASE("an inbox never promises a slot twice") {
  for (const std::int32_t max_waiting : {0, 1, 3}) {
    CAPTURE(max_waiting);
    serve::EngineInbox inbox(1, max_waiting);
    const auto submit = [&] { inbox.submit(std::make_shared<serve::EngineRequest>()); };
    serve::EngineInbox::Requests received;
    std::deque<serve::EngineInbox::Task> tasks;
    for (std::int32_t i = 0; i <= max_waiting; ++i) submit();  // one for the slot
    CHECK_THROWS_AS(submit(), QueueFullError);
    CHECK(inbox.receive(true, received, tasks));
    CHECK_THROWS_AS(submit(), QueueFullError);
    inbox.text_starts(*received.front(), 0);
    CHECK(inbox.state().slots[0].busy);
    CHECK(inbox.state().n_running == 1);
    CHECK(inbox.state().n_waiting == max_waiting);
    CHECK_THROWS_AS(submit(), QueueFullError);

    inbox.text_leaves(*received.front(), 0, true);  // preempted: the slot is for this text
    CHECK_THROWS_AS(submit(), QueueFullError);
    inbox.text_starts(*received.front(), 0);
    CHECK_THROWS_AS(submit(), QueueFullError);
    inbox.text_leaves(*received.front(), 0, false);
    submit();
    CHECK_THROWS_AS(submit(), QueueFullError);
  }
}

TEST_CASE("an inbox has room for one more when a waiting request is dropped") {
  serve::EngineInbox inbox(1, 1);
  const auto submit = [&] { inbox.submit(std::make_shared<serve::EngineRequest>()); };
  serve::EngineInbox::Requests received;
  std::deque<serve::EngineInbox::Task> tasks;
  submit();
  submit();
  CHECK(inbox.receive(true, received, tasks));
  inbox.text_starts(*received[0], 0);
  inbox.text_dropped(*received[1]);
  CHECK(inbox.state().n_waiting == 0);
  submit();
  CHECK_THROWS_AS(submit(), QueueFullError);
}

TEST_CASE("an engine of a model that only gives embeddings") {
  const auto model = test::made_text_model({});
  Engine engine(model, {.slots = 2});
  CHECK_THROWS_AS(engine.submit(made_request(1, 5, 5), std::make_shared<test::Collector>()),
                  UnsupportedError);
  const std::vector<TypedTokens> texts{std::vector<TokenId>{2, 7, 3},
                                       std::vector<TokenId>{2, 9, 11, 3}};
  const auto got = engine.embed(texts, {}).get();
  const auto expected = Embedder(model, {}).embed(texts);
  for (std::size_t i = 0; i < 2; ++i) CHECK(got[i].values == expected[i].values);
  CHECK(engine.context() == Embedder(model, {}).max_tokens());
  CHECK(engine.memory() == Embedder(model, {}).session().memory());
  CHECK(engine.session_options().context == Embedder(model, {}).session().options().context);
}

TEST_CASE("the options of an engine's session are those that it uses") {
  const Engine engine(tiny_model(), {.slots = 3, .kept_prompts_bytes = 0});
  CHECK(engine.session_options().sequences == 3);
  CHECK(engine.session_options().context == engine.context());
  CHECK(engine.session_options().weights != WeightMode::automatic);
}

TEST_CASE("scales of LoRAs by request") {
  const test::TempFolder folder;
  const std::string path = (folder / "lora.gguf").string();
  test::write_lora({.weights = {{"blk.0.attn_q.weight", {64, 64}}}}, path);
  const auto model = tiny_model({}, {.adapters = {.loras = {{path, 1.0F}}}});
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  TextRequest request = made_request(1, 60, 30);
  const auto tokens_with = [&](float scale) {
    TextRequest scaled = request;
    scaled.generation.lora_scales = std::vector<float>{scale};
    return written_alone(model, scaled).tokens;
  };
  CHECK(tokens_with(0) != tokens_with(1));
  CHECK(run(engine, request)->text(0).tokens == tokens_with(1));
  request.generation.lora_scales = std::vector<float>{0};
  const auto off = run(engine, request);
  CHECK(off->text(0).tokens == tokens_with(0));
  CHECK(off->prompts()[0].n_reused == 0);
  CHECK(off->prompts()[0].why_not_reused == "59 tokens are held with other scales of LoRAs");
  engine.set_lora_scales({0.5F});
  request.generation.lora_scales.reset();
  CHECK(run(engine, request)->text(0).tokens == tokens_with(0.5F));
  request.generation.lora_scales = std::vector<float>{1};
  const auto again = run(engine, request);
  CHECK(again->text(0).tokens == tokens_with(1));
  CHECK(again->prompts()[0].n_reused == 59);  // kept beside the slots
  CHECK_THROWS_AS(engine.set_lora_scales({}), ValueError);
  CHECK_THROWS_AS(engine.set_lora_scales({NAN}), ValueError);
}

}  // namespace
}  // namespace weft
