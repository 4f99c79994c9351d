#include "weft/api/workers.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

namespace weft::api {
namespace {

TEST_CASE("a timer of the workers is called while one of them is busy") {
  for (int i = 0; i < 8; ++i) {
    std::promise<void> called;
    const std::shared_future<void> was_called = called.get_future().share();
    std::promise<bool> busy_ended;
    Workers workers(2);  // ends before the objects that its jobs refer to
    workers.at(Clock::now() + std::chrono::milliseconds(20), [&] { called.set_value(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
    // Either worker may get it: the one that waits for the timer, too.
    workers.post([&] {
      const auto status = was_called.wait_for(std::chrono::seconds(5));
      busy_ended.set_value(status == std::future_status::ready);
    });
    CHECK(busy_ended.get_future().get());
  }
}

TEST_CASE("workers that stopped drop posted jobs and their contents") {
  Workers workers(2);
  const auto held = std::make_shared<int>();
  std::atomic<int> n_run = 0;
  const auto job = [&n_run, held] { ++n_run; };
  workers.at(Clock::now() + std::chrono::hours(1), job);
  workers.stop();
  const int before = n_run;
  workers.post(job);
  CHECK_FALSE(workers.post_new(job));
  workers.at(Clock::now(), job);
  workers.stop();
  CHECK(n_run == before);
  CHECK(held.use_count() == 2);  // `held` and `job`
}

}  // namespace
}  // namespace weft::api
