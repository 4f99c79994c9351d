#include "weft/api/workers.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
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
      const auto status = was_called.wait_for(std::chrono::seconds(60));
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

// Jobs that wait for one that comes after them: false after 60 s.
struct Gate {
  std::promise<void> opens;
  std::shared_future<void> opened = opens.get_future().share();
  bool wait() const {
    return opened.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }
};

TEST_CASE("clients of the workers take turns") {
  std::mutex mutex;
  std::string order;
  std::promise<void> done;
  Gate gate;
  Workers workers(1, 256, std::chrono::hours(1));
  const auto job = [&](char name) {
    return [&, name] {
      const std::lock_guard lock(mutex);
      order += name;
      if (order.size() == 6) done.set_value();
    };
  };
  std::promise<void> begun;
  workers.post_new([&] { begun.set_value(), gate.wait(); }, "first");
  begun.get_future().wait();
  for (int i = 0; i < 4; ++i) workers.post_new(job('a'), "a");
  for (int i = 0; i < 2; ++i) workers.post_new(job('b'), "b");
  gate.opens.set_value();
  done.get_future().wait();
  CHECK(order == "ababaa");
}

TEST_CASE("a long job of the workers leaves its place to others") {
  std::promise<bool> waited;
  Gate gate;
  Workers workers(1);
  workers.post_new([&] { waited.set_value(gate.wait()); }, "a");
  workers.post_new([&] { gate.opens.set_value(); }, "a");
  CHECK(waited.get_future().get());
}

TEST_CASE("long jobs of one client leave places to others") {
  constexpr int kJobs = 20;
  std::atomic<int> n_waited = 0;
  Gate gate;
  std::promise<void> done;
  Workers workers(2);
  for (int i = 0; i < kJobs; ++i)
    workers.post_new(
        [&] {
          if (gate.wait() && ++n_waited == kJobs) done.set_value();
        },
        "a");
  workers.post_new([&] { gate.opens.set_value(); }, "b");
  CHECK(done.get_future().wait_for(std::chrono::seconds(120)) == std::future_status::ready);
}

TEST_CASE("long jobs of many clients leave a place to one that has none") {
  constexpr int kJobs = 30;
  std::atomic<int> n_waited = 0;
  Gate gate;
  std::promise<void> done;
  Workers workers(2);
  for (int i = 0; i < kJobs; ++i)
    workers.post_new(
        [&] {
          if (gate.wait() && ++n_waited == kJobs) done.set_value();
        },
        std::string(1, static_cast<char>('a' + i % 3)));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // as many are long as there may be
  workers.post_new([&] { gate.opens.set_value(); }, "d");
  CHECK(done.get_future().wait_for(std::chrono::seconds(120)) == std::future_status::ready);
}

TEST_CASE("long jobs of requests that were taken are those of their client, too") {
  constexpr int kJobs = 20;
  std::atomic<int> n_waited = 0;
  Gate gate;
  std::promise<void> done;
  Workers workers(2);
  for (int i = 0; i < kJobs; ++i)
    workers.post(
        [&] {
          if (gate.wait() && ++n_waited == kJobs) done.set_value();
        },
        "a");
  workers.post_new([&] { workers.post([&] { gate.opens.set_value(); }, "b"); }, "b");
  CHECK(done.get_future().wait_for(std::chrono::seconds(120)) == std::future_status::ready);
}

TEST_CASE("a client cannot fill the queue of the workers") {
  Gate gate;
  Workers workers(1, 8, std::chrono::hours(1));
  std::promise<void> begun;
  workers.post_new([&] { begun.set_value(), gate.wait(); }, "a");
  begun.get_future().wait();
  for (int i = 0; i < 4; ++i) CHECK(workers.post_new([] {}, "a"));
  CHECK_FALSE(workers.post_new([] {}, "a"));
  for (int i = 0; i < 4; ++i) CHECK(workers.post_new([] {}, "b"));
  // The queue is full, but not for those who have nothing in it.
  CHECK_FALSE(workers.post_new([] {}, "b"));
  CHECK(workers.post_new([] {}, "c"));
  CHECK_FALSE(workers.post_new([] {}, "c"));
  gate.opens.set_value();
}

}  // namespace
}  // namespace weft::api
