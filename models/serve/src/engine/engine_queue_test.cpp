// The order of an engine's queue, and the deadlines of its requests, without an engine around them.
#include "engine/engine_queue.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "engine/engine_inbox.h"

namespace weft {
namespace {

using serve::EngineInbox;
using serve::EngineQueue;
using serve::EngineRequest;

std::shared_ptr<EngineRequest> queued_request(RequestId id, int priority, std::int32_t texts = 1) {
  auto request = std::make_shared<EngineRequest>();
  request->id = id;
  request->wanted.priority = priority;
  request->wanted.texts = texts;
  return request;
}

// "ID.INDEX" of each text.
std::string order_of(EngineQueue& queue) {
  std::string order;
  for (std::size_t i = 0; i < queue.size(); ++i)
    order += std::to_string(queue[i].request->id) + "." + std::to_string(queue[i].index) + " ";
  return order;
}

TEST_CASE("a queue sorts by priority, request and text") {
  EngineQueue queue;
  const auto second = queued_request(2, 0);
  queue.add_texts_of(queued_request(1, 0, 3));
  queue.add_texts_of(second);
  queue.add_texts_of(queued_request(3, 5, 2));
  queue.add_texts_of(queued_request(4, -1));
  CHECK(order_of(queue) == "3.0 3.1 1.0 1.1 1.2 2.0 4.0 ");
  SUBCASE("a text that returns gets its place back") {
    auto text = queue.remove(3);
    CHECK(order_of(queue) == "3.0 3.1 1.0 1.2 2.0 4.0 ");
    queue.insert(std::move(text));
    CHECK(order_of(queue) == "3.0 3.1 1.0 1.1 1.2 2.0 4.0 ");
  }
  SUBCASE("texts of cancelled requests are removed") {
    queue[2].request->cancelled = true;
    const auto removed = queue.remove_cancelled();
    REQUIRE(removed.size() == 3);
    CHECK(removed[2]->index == 2);
    CHECK(order_of(queue) == "3.0 3.1 2.0 4.0 ");
    CHECK(queue.remove_cancelled().empty());
  }
  SUBCASE("texts of a request are dropped") {
    CHECK(queue.drop_texts_of(*second) == 1);
    CHECK(queue.drop_texts_of(*second) == 0);
    CHECK(order_of(queue) == "3.0 3.1 1.0 1.1 1.2 4.0 ");
  }
}

TEST_CASE("an inbox cancels requests at their deadlines") {
  EngineInbox inbox(1, 4);
  const auto late = queued_request(0, 0), early = queued_request(0, 0),
             never = queued_request(0, 0);
  const auto now = Clock::now();
  late->wanted.deadline = now + std::chrono::hours(1);
  early->wanted.deadline = now;
  CHECK(inbox.submit(late) == 1);
  CHECK(inbox.submit(early) == 2);
  CHECK(inbox.submit(never) == 3);
  while (!early->cancelled) std::this_thread::yield();
  CHECK_FALSE(late->cancelled);
  CHECK_FALSE(never->cancelled);
}

}  // namespace
}  // namespace weft
