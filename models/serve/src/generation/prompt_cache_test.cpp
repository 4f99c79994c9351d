// Prompts whose computed part is kept in files.
#include "weft/serve/prompt_cache.h"

#include <fstream>

#include "weft/base/error.h"

#include "generation/generation_test_support.h"
#include "support/file_bytes.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::file_bytes;
using test::tiny_model;
using test::write;
using Ids = std::vector<TokenId>;

Ids prompt_of(int n) {
  Ids ids;
  for (int i = 0; i < n; ++i) ids.push_back(i * 7 % 50);
  return ids;
}

struct Restored {
  std::int64_t n = 0;
  std::string warning;
  Ids text;  // as it went on
};

const GenerationOptions kGreedy{.sampler = {.temperature = 0}, .max_tokens = 8};

// Begins a text from a file, in a session of its own, and keeps what was computed.
Restored begin(const std::shared_ptr<const Model>& model, const std::string& path,
               std::span<const TokenId> prompt, bool read_only = false,
               SessionOptions options = {}) {
  options.context = 200;
  Session session(model, options);
  Generation generation(session, 0, kGreedy);
  PromptCache cache(path, read_only);
  Restored restored;
  restored.n = cache.restore(generation, prompt, restored.warning);
  generation.begin(prompt);
  CHECK(generation.n_reused() == restored.n);
  generation.prefill();
  cache.keep(generation);
  restored.text = write(generation).tokens;
  return restored;
}

TEST_CASE("what prompts have in common is computed once") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const std::string path = (folder / "cache").string();
  const Ids prompt = prompt_of(90);
  const Restored first = begin(model, path, prompt);
  CHECK(first.n == 0);
  CHECK(first.warning.empty());

  struct Case {
    Ids prompt;
    std::int64_t n;
  };
  Ids longer = prompt, other = prompt, shorter(prompt.begin(), prompt.begin() + 70);
  longer.insert(longer.end(), {1, 2, 3});
  other[65] = 49;
  for (const Case& c : {Case{prompt, 89}, Case{longer, 90}, Case{other, 65}, Case{shorter, 69},
                        Case{{prompt[0]}, 0}, Case{{49, 48}, 0}}) {
    CAPTURE(c.n);
    const Restored restored = begin(model, path, c.prompt, /*read_only=*/true);
    CHECK(restored.n == c.n);
    CHECK(restored.warning.empty());
    Session fresh(model, {.context = 200});
    CHECK(restored.text == write(fresh, kGreedy, c.prompt).tokens);
  }
}

TEST_CASE("a file is written when there is something new in it") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const std::string path = (folder / "cache").string();
  const Ids prompt = prompt_of(20), longer = prompt_of(30);
  begin(model, path, prompt);
  const auto changed = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  const auto is_kept = [&](std::span<const TokenId> with, bool read_only) {
    std::filesystem::last_write_time(path, changed);
    begin(model, path, with, read_only);
    return std::filesystem::last_write_time(path) == changed;
  };
  CHECK(is_kept(prompt, false));
  CHECK(is_kept(std::span(prompt).first(10), false));  // all of it is there
  CHECK(is_kept(longer, true));
  CHECK_FALSE(is_kept(longer, false));
  CHECK(begin(model, path, longer, true).n == 29);
}

TEST_CASE("no path, no file, an empty file") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const Ids prompt = prompt_of(20);
  CHECK(begin(model, "", prompt).n == 0);
  const std::string path = (folder / "cache").string();
  CHECK(begin(model, path, prompt, true).n == 0);
  CHECK_FALSE(std::filesystem::exists(path));
  std::ofstream{path};
  CHECK(begin(model, path, prompt).warning.empty());
  CHECK(begin(model, path, prompt).n == 19);
  Session session(model, {.context = 50});
  Generation generation(session, 0);
  std::string warning;
  CHECK(PromptCache(path).restore(generation, {}, warning) == 0);
}

TEST_CASE("a file that cannot be used is reported and replaced") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const std::string path = (folder / "cache").string();
  const Ids prompt = prompt_of(20);
  begin(model, path, prompt);
  const auto good = file_bytes(path);
  const Restored other = begin(model, path, prompt, true, {.cache_k = f32});
  CHECK(other.n == 0);
  CHECK(other.warning.find(": was saved with other adapters or scales, other cache types") !=
        std::string::npos);
  CHECK(begin(tiny_model({.sizes = {.L = 3}}), path, prompt, true).warning.ends_with(": not used"));
  CHECK(file_bytes(path) == good);

  std::ofstream(path, std::ios::binary | std::ios::app) << "more";
  const Restored damaged = begin(model, path, prompt);
  CHECK(damaged.n == 0);
  CHECK(damaged.warning.find(": damaged:") != std::string::npos);
  CHECK(damaged.warning.ends_with(": not used"));
  CHECK(file_bytes(path) == good);  // made anew, with the same bytes
}

TEST_CASE("files of another kind and folders without write access are refused first") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  const Ids prompt = prompt_of(20);
  std::ofstream(path) << "precious";
  CHECK_THROWS_AS(begin(model, path, prompt), UnsupportedError);
  CHECK_THROWS_AS(begin(model, path, prompt, true), UnsupportedError);
  CHECK_THROWS_AS(begin(model, folder.path().string(), prompt, true), IoError);
  CHECK_THROWS_AS(begin(model, (folder / "no/where").string(), prompt), IoError);
  // A conversation has a note: it may be read from, and is not replaced.
  Session session(model, {.context = 200});
  Generation generation(session, 0);
  generation.begin(prompt);
  generation.prefill();
  generation.save(path, "{\"messages\": []}");
  CHECK(begin(model, path, prompt, true).n == 19);
  CHECK_THROWS_WITH_AS(begin(model, path, prompt),
                       doctest::Contains("a conversation, not a prompt cache"), UnsupportedError);
}

TEST_CASE("a model with a window continues from what its file still has") {
  const auto model = test::mixed_model();
  const test::TempFolder folder;
  const std::string path = (folder / "cache").string();
  const Ids prompt = prompt_of(100);
  begin(model, path, prompt);
  Ids longer = prompt;
  longer.push_back(5);
  const Restored restored = begin(model, path, longer, true);
  CHECK(restored.n == 100);
  Session fresh(model, {.context = 200});
  CHECK(restored.text == write(fresh, kGreedy, longer).tokens);
  const Restored again = begin(model, path, prompt, true);
  CHECK(again.n == 64);  // 99 tokens would need what is gone
  Session other(model, {.context = 200});
  CHECK(again.text == write(other, kGreedy, prompt).tokens);
}

}  // namespace
}  // namespace weft
