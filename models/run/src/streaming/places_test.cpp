// Streams models from other file systems, from several parts, and with several sessions.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/run/session.h"

#include "plan/session_plan.h"
#include "support/file_variant.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;

namespace {

const std::vector<std::int32_t> kTokens = test::some_tokens(40);

// A folder in memory. Its file system may refuse reads past the page cache.
class MemoryFolder {
 public:
  MemoryFolder() {
    std::string pattern = "/dev/shm/weft-test-XXXXXX";
    if (::mkdtemp(pattern.data()))
      path_ = pattern;
    else
      MESSAGE("skipped: cannot make a folder in /dev/shm: " << std::strerror(errno));
  }
  ~MemoryFolder() {
    std::error_code ignored;
    if (exists()) std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  bool exists() const { return !path_.empty(); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Logits of a session with the given weights. Streamed ones have the smallest budget.
std::vector<float> logits_of(const std::shared_ptr<const Model>& model, WeightMode mode) {
  SessionOptions options{.context = 64, .prefill_width = 16, .workers = 2, .weights = mode};
  if (mode == WeightMode::streamed) {
    const PlannedModel smallest = run::plan_all(*model, run::resolve(*model, options), mode);
    REQUIRE(!smallest.residency.streamed.empty());
    options.mem_budget = smallest.memory.total();
  }
  Session session(model, options);
  std::vector<float> logits = test::all_logits(session, kTokens, 16);
  CHECK((session.stream_stats().bytes_read > 0) == (mode == WeightMode::streamed));
  return logits;
}

void check_streamed(const std::string& path) {
  const auto model = Model::load(path);
  CHECK(test::same_bits(logits_of(model, WeightMode::streamed),
                        logits_of(model, WeightMode::mapped)));
}

const test::TinyModel kModels[] = {{.sizes = {.L = 4}},
                                   {.arch = "qwen3moe", .sizes = {.L = 4, .X = 8}}};

}  // namespace

TEST_CASE("a model in memory is streamed") {
  const MemoryFolder folder;
  if (!folder.exists()) return;
  for (const test::TinyModel& about : kModels) {
    CAPTURE(about.arch);
    const std::string path = (folder / "model.gguf").string();
    test::write_tiny_model(about, path);
    check_streamed(path);
  }
}

TEST_CASE("the parts of a streamed model may be on different file systems") {
  const MemoryFolder memory;
  if (!memory.exists()) return;
  test::Files files;
  test::Variant variant = files.made({.arch = "llama", .sizes = {.L = 4}});
  for (const int moved : {1, 2}) {
    CAPTURE(moved);
    const std::string prefix = (files.folder() / fmt::format("split{}", moved)).string();
    variant.write_parts(prefix, 2);
    const std::string part = fmt::format("{}-{:05d}-of-00002.gguf", prefix, moved);
    const std::filesystem::path target = memory / fmt::format("part{}", moved);
    std::filesystem::copy_file(part, target);
    std::filesystem::remove(part);
    std::filesystem::create_symlink(target, part);
    check_streamed(prefix + "-00001-of-00002.gguf");
  }
}

TEST_CASE("two sessions stream the same file at the same time") {
  for (const test::TinyModel& about : kModels) {
    CAPTURE(about.arch);
    const test::TempFolder folder;
    const std::string path = (folder / "model.gguf").string();
    test::write_tiny_model(about, path);
    const std::vector<float> want = logits_of(Model::load(path), WeightMode::mapped);
    std::vector<float> logits[2];
    {
      std::jthread threads[2];
      for (std::size_t i = 0; i < 2; ++i)
        threads[i] = std::jthread(
            [&, i] { logits[i] = logits_of(Model::load(path), WeightMode::streamed); });
    }
    for (const std::vector<float>& l : logits) CHECK(test::same_bits(l, want));
  }
}
