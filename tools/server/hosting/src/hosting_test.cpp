// Models of a server, without HTTP and without weights.

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/api/errors.h"
#include "weft/base/error.h"
#include "weft/hosting/metrics_text.h"
#include "weft/hosting/model_files.h"
#include "weft/hosting/model_pool.h"

#include "support/temp_folder.h"

namespace weft::server {
namespace {

// No tensors, no keys.
const std::string kEmptyGguf = std::string("GGUF\3", 5) + std::string(27, '\0');

// Writes a file of the folder, and returns its path.
std::string add(const test::TempFolder& folder, const std::string& name,
                const std::string& text = kEmptyGguf) {
  const std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path.string();
}

TEST_CASE("metrics are in the format of Prometheus") {
  Histogram histogram;
  histogram.add(0.0005);
  histogram.add(0.001);  // bounds are inclusive
  histogram.add(0.3);
  histogram.add(1e6);
  histogram.add(-1);
  MetricsText text("weft_");
  text.counter("tokens_total", "Tokens.", 3e9);
  text.begin("requests_total", MetricsText::Kind::counter, "Answers.");
  text.sample(1, {{"path", "/a\"b\\\n"}, {"status", "200"}});
  text.gauge("share", "A share.", 0.25);
  text.histogram("seconds", "Times.", histogram);
  const std::string out = std::move(text).take();
  CHECK(
      out.starts_with("# HELP weft_tokens_total Tokens.\n# TYPE weft_tokens_total counter\n"
                      "weft_tokens_total 3000000000\n"));
  CHECK(out.find("weft_requests_total{path=\"/a\\\"b\\\\\\n\",status=\"200\"} 1\n") != out.npos);
  CHECK(out.find("weft_share 0.25\n") != out.npos);
  CHECK(out.find("weft_seconds_bucket{le=\"0.001\"} 3\n") != out.npos);
  CHECK(out.find("weft_seconds_bucket{le=\"0.2\"} 3\n") != out.npos);
  CHECK(out.find("weft_seconds_bucket{le=\"0.5\"} 4\n") != out.npos);
  CHECK(out.find("weft_seconds_bucket{le=\"+Inf\"} 5\n") != out.npos);
  CHECK(out.ends_with("weft_seconds_count 5\n"));
}

TEST_CASE("models below a folder") {
  const test::TempFolder folder;
  CHECK_THROWS_AS(models_below(folder.path().string()), ValueError);
  add(folder, "b.gguf");
  add(folder, "deep/a.gguf");
  add(folder, "notes.txt");
  add(folder, "big-00001-of-00002.gguf");
  add(folder, "big-00002-of-00002.gguf");
  const auto models = models_below(folder.path().string());
  REQUIRE(models.size() == 3);
  CHECK(models[0].names == std::vector<std::string>{"a"});
  CHECK(models[1].names == std::vector<std::string>{"b"});
  CHECK(models[2].names == std::vector<std::string>{"big-00001-of-00002"});
  add(folder, "deep/b.gguf");
  add(folder, ".hidden.gguf");
  add(folder, ".cache/c.gguf");
  add(folder, "\xFF/\xFE.gguf");
  std::vector<std::string> warnings;
  std::vector<std::string> names;
  const auto warn = [&](std::string_view text) { warnings.emplace_back(text); };
  for (const std::string end : {"", "/", "/."}) {
    warnings.clear();
    names.clear();
    for (const HostedModel& model : models_below(folder.path().string() + end, warn))
      names.push_back(model.names.front());
    CHECK(names == std::vector<std::string>{"a", "b", "big-00001-of-00002", "deep/b"});
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].ends_with("\\xff/\\xfe.gguf"));
  }
  add(folder, "junk.gguf", "x");
  add(folder, "no.gguf", "");
  warnings.clear();
  CHECK(models_below(folder.path().string(), warn).size() == 4);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("left out 2 files that cannot be read: " + folder.path().string()) !=
        std::string::npos);
  CHECK_THROWS_AS(models_below((folder / "none").string()), IoError);
}

struct TestPool {
  // With `gate`, the model is preloaded when the gate opens.
  TestPool(int max_loaded, const std::vector<std::string>& names,
           const std::shared_future<void>& gate = {}) {
    PoolOptions options;
    for (const std::string& name : names) options.models.push_back({name + ".gguf", {name}});
    options.max_loaded = max_loaded;
    options.refuse_until_loaded = gate.valid();
    options.max_waiting = 3;
    options.load = [this, gate](const HostedModel& source, std::int64_t) {
      if (gate.valid()) gate.wait();
      if (source.names.front() == "broken") fail<FormatError>("broken");
      const std::lock_guard lock(mutex);
      loads.push_back(source.names.front());
      auto served = std::make_shared<api::ServedModel>();
      served->name = source.names.front();
      return served;
    };
    pool = std::make_unique<ModelPool>(std::move(options));
  }

  using Found = std::shared_ptr<const api::ServedModel>;
  std::future<Found> find(const std::string& name) {
    auto promise = std::make_shared<std::promise<Found>>();
    pool->find(name, [promise](Found model, const std::exception_ptr& error) {
      error ? promise->set_exception(error) : promise->set_value(std::move(model));
    });
    return promise->get_future();
  }

  std::mutex mutex;
  std::vector<std::string> loads;
  std::unique_ptr<ModelPool> pool;
};

TEST_CASE("the pool loads on demand and unloads the model that was idle longest") {
  TestPool test(2, {"a", "b", "c"});
  CHECK(test.find("a").get()->name == "a");
  CHECK(test.find("b:latest").get()->name == "b");
  CHECK(test.find("a").get()->name == "a");
  CHECK(test.find("c").get()->name == "c");  // instead of b
  CHECK(test.find("a").get()->name == "a");
  CHECK(test.find("b").get()->name == "b");
  CHECK(test.loads == std::vector<std::string>{"a", "b", "c", "b"});
  std::vector<std::string> states;
  for (const api::ListedModel& model : test.pool->list()) states.push_back(model.status);
  CHECK(states == std::vector<std::string>{"loaded", "loaded", "unloaded"});
}

TEST_CASE("the pool waits for a busy model, which gets no more requests meanwhile") {
  TestPool test(1, {"a", "b"});
  auto held = test.find("a").get();
  auto b = test.find("b");
  std::future<TestPool::Found> again;
  do {
    again = test.find("a");  // answered at once until the pool's thread has seen the request for b
  } while (again.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(b.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  auto second = test.find("a"), third = test.find("a");
  CHECK_THROWS_AS(test.find("a").get(), QueueFullError);
  held.reset();
  CHECK(b.get()->name == "b");
  CHECK(again.get()->name == "a");
  CHECK(second.get()->name == "a");
  CHECK(third.get()->name == "a");
  again = {};
  CHECK(test.pool->wait_released(Clock::now() + std::chrono::seconds(10)));
}

TEST_CASE("errors of the pool") {
  TestPool test(1, {"a", "broken"});
  CHECK_THROWS_AS(test.find("x").get(), api::ApiError);
  CHECK_THROWS_AS(test.find("").get(), api::ApiError);
  CHECK_THROWS_WITH_AS(test.find("broken").get(), "broken", api::ApiError);
  CHECK(test.find("a").get()->name == "a");
  CHECK_THROWS_WITH_AS(test.find("broken").get(), "broken", api::ApiError);
  CHECK_THROWS_AS(TestPool(1, {"a", "a"}), ValueError);
}

TEST_CASE("a pool that stops answers those who wait") {
  TestPool test(1, {"a", "b"});
  const auto held = test.find("a").get();
  auto b = test.find("b");  // waits for a to be released
  test.pool->stop();
  CHECK_THROWS_AS(b.get(), api::ApiError);
  CHECK_THROWS_AS(test.find("b").get(), api::ApiError);
  CHECK(test.loads == std::vector<std::string>{"a"});
  test.pool->stop();
}

TEST_CASE("a model is loaded again when it is released") {
  TestPool test(1, {"a", "b"});
  auto held = test.find("a").get();
  test.pool->reload("a");
  test.pool->reload("b");  // it is not loaded
  auto next = test.find("a");
  CHECK(next.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  held.reset();
  CHECK(next.get()->name == "a");
  CHECK(test.loads == std::vector<std::string>{"a", "a"});
}

TEST_CASE("a preloaded model is refused until it is loaded") {
  std::promise<void> open;
  TestPool test(1, {"a"}, open.get_future().share());
  CHECK(test.pool->state() == ModelPool::State::loading);
  CHECK_THROWS_AS(test.find("a").get(), api::ApiError);
  open.set_value();
  while (test.pool->state() == ModelPool::State::loading) std::this_thread::yield();
  CHECK(test.find("any name").get()->name == "a");
}

}  // namespace
}  // namespace weft::server
