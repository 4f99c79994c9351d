// Random lives of an engine's texts: they branch, repeat, wait for each other, are cancelled, and
// there is never enough memory for all. Each has the bits that it has alone.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "engine/engine_test_support.h"
#include "support/error_text.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::Collector;
using test::run;
using test::tiny_model;

constexpr std::int64_t kContext = 320;

class RandomLife {
 public:
  RandomLife(const std::shared_ptr<const Model>& model, std::uint32_t seed, std::int64_t kept_bytes,
             SnapshotOptions snapshots = {})
      : model_(model),
        options_{.slots = 3,
                 .session = {.context = kContext, .cells = 640, .prefill_width = 128},
                 .prompt_tokens_per_step = 40,
                 .kept_prompts_bytes = kept_bytes,
                 .snapshots = std::move(snapshots),
                 .prepare_share = 0.5},
        engine_(std::in_place, model_, options_),
        cold_(model, {.slots = 1, .session = {.context = kContext}, .kept_prompts_bytes = 0}),
        has_logprobs_(model->vocabulary().has_texts()),
        random_(seed) {}

  // A new engine of the same model; `between` is called when there is none.
  void restart(const std::function<void(std::mt19937&)>& between) {
    counters_ += engine_->state().counters;
    engine_.reset();
    between(random_);
    engine_.emplace(model_, options_);
  }
  // A few requests at once, which are compared with a cold engine.
  void turn() {
    std::vector<std::pair<TextRequest, std::shared_ptr<Collector>>> running;
    for (std::int64_t i = 0; i <= below(3); ++i) {
      TextRequest request = some_request();
      auto listener = std::make_shared<Collector>(request.texts);
      const RequestId id = engine_->submit(request, listener);
      if (below(6) == 0) engine_->cancel(id);
      running.emplace_back(std::move(request), std::move(listener));
    }
    for (auto& [request, listener] : running) {
      listener->wait();
      REQUIRE_FALSE(listener->error());
      for (std::int32_t i = 0; i < request.texts && request.moved.min_tokens == 0; ++i)
        compare(request, *listener, i);
      std::vector<TokenId> text = request.prompt;
      const auto& tokens = listener->text(0).tokens;
      text.insert(text.end(), tokens.begin(), tokens.end());
      texts_.push_back(std::move(text));
    }
    TextRequest next = some_request();
    if (below(2) == 0) engine_->prepare(next);
  }
  EngineCounters counters() const {
    EngineCounters all = counters_;
    return all += engine_->state().counters;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n));
  }
  // It often begins as an earlier one, up to anywhere, with its answer.
  TextRequest some_request() {
    TextRequest request;
    if (!texts_.empty() && below(4) > 0) {
      request.prompt = texts_[static_cast<std::size_t>(below(std::ssize(texts_)))];
      const std::int64_t n =
          below(3) == 0 ? std::ssize(request.prompt) : below(std::ssize(request.prompt) + 1);
      request.prompt.resize(static_cast<std::size_t>(std::min(n, kContext - 60)));
      if (n > 40 && below(4) == 0)  // what follows moves
        request.prompt.erase(request.prompt.begin(), request.prompt.begin() + 1 + below(5));
    }
    const std::int64_t room = kContext - 40 - std::ssize(request.prompt);
    for (std::int64_t n = 1 + below(std::min<std::int64_t>(room, 100)); n > 0; --n)
      request.prompt.push_back(static_cast<TokenId>(3 + below(3)));
    request.generation.max_tokens = below(20);
    request.generation.ignore_eos = true;
    if (has_logprobs_) request.generation.logprobs = 1;
    request.generation.sampler.seed = static_cast<std::uint64_t>(below(3));
    request.texts = below(5) == 0 ? 3 : 1;
    request.owner = below(4) == 0 ? "somebody" : "";
    request.reuse = below(8) > 0;
    if (below(4) == 0) request.moved = {20, below(2) == 0 ? 0.2 : 0.0};
    request.likely_again = below(4) == 0;
    if (below(4) == 0) request.marks = {below(std::ssize(request.prompt)) + 1};
    return request;
  }
  void compare(TextRequest request, Collector& seen, std::int32_t i) {
    request.generation.sampler.seed += static_cast<std::uint64_t>(i);
    request.texts = 1;
    request.reuse = false;
    const auto alone = run(cold_, request);
    const auto& tokens = seen.text(i).tokens;
    const auto& want = alone->text(0).tokens;
    const bool cancelled = seen.end(i).reason == StopReason::cancelled;
    REQUIRE((cancelled ? tokens.size() <= want.size() : tokens.size() == want.size()));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      REQUIRE(tokens[t] == want[t]);
      const auto logprob = [&](Collector& of, std::int32_t k) {
        return of.logprobs(k)[t].chosen.logprob;
      };
      if (has_logprobs_) REQUIRE(logprob(seen, i) == logprob(*alone, 0));
    }
  }

  const std::shared_ptr<const Model> model_;
  const EngineOptions options_;
  EngineCounters counters_;  // those of earlier engines
  std::optional<Engine> engine_;
  Engine cold_;
  const bool has_logprobs_;  // the model has a tokenizer
  std::mt19937 random_;
  std::vector<std::vector<TokenId>> texts_;
};

TEST_CASE("whatever texts reuse and whatever is evicted, each has the bits of a cold one") {
  for (const std::string arch : {"llama", "mixed", "qwen35", "gemma3"}) {
    for (const std::int64_t kept : {0, 30'000, 400'000}) {
      CAPTURE(arch);
      CAPTURE(kept);
      RandomLife texts(arch == "mixed" ? test::mixed_model() : tiny_model({.arch = arch}), 7, kept);
      for (int i = 0; i < 40; ++i) texts.turn();
      const EngineCounters counters = texts.counters();
      if (arch == "llama" || kept == 400'000) CHECK(counters.prompt_tokens_reused > 0);
      if (arch == "llama" && kept == 30'000) CHECK(counters.evicted_tokens > 0);
      CHECK((counters.prompt_tokens_moved > 0) == (arch == "llama" || arch == "gemma3"));
    }
  }
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

// Something happens to a file of the folder.
void spoil(const std::string& folder, std::mt19937& random) {
  const auto files = files_in(folder);
  if (files.empty()) return;
  const auto &file = files[random() % files.size()], &other = files[random() % files.size()];
  const std::uintmax_t size = std::filesystem::file_size(file);
  switch (random() % 6) {
    case 0:
      return std::filesystem::resize_file(file, random() % (size + 1));
    case 1:
      return std::filesystem::resize_file(file, size + 100);
    case 2:
      return static_cast<void>(std::filesystem::remove(file));
    case 3:
      std::filesystem::copy_file(other, file, std::filesystem::copy_options::overwrite_existing);
      return;
    case 4: {
      std::filesystem::remove(file);
      return std::filesystem::create_symlink("/etc/passwd", file);
    }
    default: {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(random() % std::max<std::uintmax_t>(size, 1));
      char byte = 0;
      bytes.seekg(at).get(byte);
      bytes.seekp(at).put(static_cast<char>(byte ^ (1 << random() % 8)));
    }
  }
}

TEST_CASE("over restarts and damaged snapshots, each text has the bits of a cold one") {
  for (const std::string arch : {"llama", "mixed", "qwen35", "gemma3"}) {
    CAPTURE(arch);
    const test::TempFolder folder;
    std::atomic<int> n_warnings = 0;
    RandomLife texts(arch == "mixed" ? test::mixed_model() : tiny_model({.arch = arch}), 7, 30'000,
                     {.folder = folder / "snapshots",
                      .max_bytes = 3'000'000,
                      .warn = [&](const std::string&) { ++n_warnings; }});
    for (int i = 0; i < 30; ++i) {
      texts.turn();
      if (i % 3 != 2) continue;
      texts.restart([&](std::mt19937& random) {
        for (int k = 0; k < i / 6; ++k) spoil(folder / "snapshots", random);
      });
    }
    const SnapshotCounters counters = texts.counters().snapshots;
    CHECK(counters.tokens_read > 0);
    CHECK(counters.written > 0);
    CHECK(counters.failed == 0);
    CHECK(n_warnings > 0);
  }
}

TEST_CASE("what an engine wrote to its folder, another one goes on from") {
  for (const bool mixed : {false, true}) {
    CAPTURE(mixed);
    const test::TempFolder folder;
    const auto model = mixed ? test::mixed_model() : tiny_model();
    const EngineOptions options{.slots = 2,
                                .session = {.context = 400, .prefill_width = 64},
                                .snapshots = {.folder = folder / "a/b"}};
    const auto of = [](int i) {
      TextRequest request = test::made_request(i, 100, 10);
      request.owner = i < 3 ? "a" : "b";
      return request;
    };
    {
      Engine engine(model, options);
      for (int i = 1; i < 6; ++i) run(engine, of(i));
    }
    const auto files = files_in(folder / "a/b");
    CHECK(files.size() == 5);
    for (const auto& file : files)
      CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::mask) ==
            (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    Engine engine(model, options), beside(model, options),
        other(tiny_model({.sizes = {.L = 3}}), options);
    CHECK(engine.state().snapshot_files == 5);
    for (int i = 1; i < 6; ++i) {
      TextRequest stranger = of(i);
      stranger.owner = "c";
      stranger.generation.max_tokens = 0;
      CHECK(run(engine, stranger)->prompts().at(0).n_reused == 0);
      CHECK(run(other, of(i))->prompts().at(0).n_reused == 0);
      for (Engine* e : {&engine, &beside}) {
        const auto listener = run(*e, of(i));
        CHECK(listener->prompts().at(0).n_reused == 99);
        CHECK(listener->text(0).tokens == test::written_alone(model, of(i)).tokens);
      }
    }
    CHECK(engine.state().counters.snapshots.tokens_read == 5 * 99);
  }
}

TEST_CASE("an engine that ends saves all of its texts, however many pieces they have") {
  const test::TempFolder folder;
  const auto model = tiny_model({.sizes = {.D = 512, .H = 8, .G = 8}});
  const EngineOptions options{.slots = 2,
                              .session = {.context = 16000, .prefill_width = 512},
                              .snapshots = {.folder = folder / "s"}};
  TextRequest request = test::made_request(1, 12000, 1);
  {
    Engine engine(model, options);
    run(engine, request);
  }
  CHECK(files_in(folder / "s").size() > 2);
  Engine engine(model, options);
  CHECK(run(engine, request)->prompts().at(0).n_reused == 11999);
}

TEST_CASE("an engine without a folder that it can use says so, and works") {
  const test::TempFolder folder;
  std::string said;
  const auto warn = [&](const std::string& what) { said = what; };
  const std::string file = folder / "file";
  std::ofstream(file) << "text";
  const auto model = tiny_model();
  Engine engine(model, {.session = {.context = 200}, .snapshots = {.folder = file, .warn = warn}});
  CHECK(said == model->file().path() + ": no snapshots: " + file +
                    ": cannot make the folder: Not a directory");
  const TextRequest request = test::made_request(1, 100, 10);
  CHECK(run(engine, request)->text(0).tokens == test::written_alone(model, request).tokens);
}

// Takes parts of `texts` in a prompt that has them one after another, each behind a token more.
class Moving {
 public:
  explicit Moving(const std::string& arch)
      : model_(tiny_model({.arch = arch})),
        engine_(model_, {.slots = 2, .session = {.context = 600, .prefill_width = 64}}) {}

  TextRequest held(int i) {
    TextRequest request = test::made_request(i, 150, 4);
    test::run(engine_, request);
    return request;
  }
  TextRequest all_of(const std::vector<TextRequest>& texts, double share) const {
    TextRequest request = test::made_request(9, 20, 12);
    for (const TextRequest& text : texts) {
      request.prompt.push_back(3);
      request.prompt.insert(request.prompt.end(), text.prompt.begin() + 10, text.prompt.end());
    }
    request.moved = {32, share};
    return request;
  }
  PromptDone run(const TextRequest& request) {
    last_ = test::run(engine_, request);
    REQUIRE_FALSE(last_->error());
    return last_->prompts().at(0);
  }
  bool is_exact(const TextRequest& request) const {
    return last_->text(0).tokens == test::written_alone(model_, request).tokens;
  }
  Engine& engine() { return engine_; }

 private:
  const std::shared_ptr<const Model> model_;
  Engine engine_;
  std::shared_ptr<Collector> last_;
};

TEST_CASE("parts of prompts are taken from other positions, if the request allows it") {
  for (const char* arch : {"llama", "gemma3"}) {
    CAPTURE(arch);
    Moving texts(arch);
    const TextRequest a = texts.held(1), b = texts.held(2);
    TextRequest both = texts.all_of({a, b}, 0.25);
    const PromptDone done = texts.run(both);
    CHECK(done.n_prompt == 20 + 2 + 2 * 140);
    // Pieces of 64 tokens and the last ones, a quarter of each computed again; the last token is.
    CHECK(done.n_moved == 140 - (16 + 16 + 3) + 139 - (16 + 16 + 3));
    CHECK(done.n_reused == done.n_moved);
    const EngineCounters counters = texts.engine().state().counters;
    CHECK(counters.prompt_tokens_moved == static_cast<std::uint64_t>(done.n_moved));
    CHECK(counters.prompt_tokens == static_cast<std::uint64_t>(300 + done.n_prompt - done.n_moved));

    // The same again continues; a request that does not allow it gets nothing of what was taken.
    CHECK(texts.run(both).n_reused == done.n_prompt - 1);
    both.moved = {};
    CHECK(texts.run(both).n_reused == 0);
    CHECK(texts.is_exact(both));
  }
}

TEST_CASE("parts that are computed again as a whole give the exact text") {
  Moving texts("llama");
  const TextRequest both = texts.all_of({texts.held(1), texts.held(2)}, 1);
  CHECK(texts.run(both).n_moved == 0);
  CHECK(texts.is_exact(both));
}

TEST_CASE("parts of prompts stay with their owner, and short ones are computed") {
  Moving texts("llama");
  const TextRequest a = texts.held(1);
  TextRequest other = texts.all_of({a}, 0);
  other.owner = "somebody";
  CHECK(texts.run(other).n_reused == 0);
  CHECK(texts.is_exact(other));
  TextRequest short_one = texts.all_of({a}, 0);
  short_one.moved.min_tokens = 141;
  CHECK(texts.run(short_one).n_moved == 0);
  TextRequest slot = texts.all_of({a}, 0);
  slot.slot = 1;
  CHECK(texts.run(slot).n_moved == 0);
}

TEST_CASE("a model that takes no parts says why, and computes them") {
  Moving texts("qwen35");
  CHECK(texts.engine().why_not_moved() == "the model has recurrent states");
  const TextRequest both = texts.all_of({texts.held(1)}, 0.25);
  const PromptDone done = texts.run(both);
  CHECK(done.n_moved == 0);
  CHECK(done.why_not_reused.ends_with(
      "; no parts are taken from other positions: the model has recurrent states"));
  CHECK(texts.is_exact(both));
}

TEST_CASE("a slot with parts from other positions is not saved") {
  Moving texts("llama");
  const PromptDone done = texts.run(texts.all_of({texts.held(1)}, 0.25));
  REQUIRE(done.n_moved > 0);
  const test::TempFolder folder;
  auto saved = texts.engine().save_slot(done.slot, (folder / "slot").string());
  CHECK(test::text_of([&] { saved.get(); }).find("only what was computed exactly is saved") !=
        std::string::npos);
  CHECK(texts.engine().leave_texts().get().texts.size() == 1);
}

}  // namespace
}  // namespace weft
