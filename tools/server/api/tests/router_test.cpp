// Whose requests are prepared in which order.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/api/endpoints.h"

#include "api_test_support.h"

namespace weft::api::test {
namespace {

// The clients of requests, sent in this order while all threads are busy, as they are answered.
std::vector<std::string> answered(const std::vector<std::string>& sent, ApiOptions options) {
  FakeServer server;
  Workers workers(1, 256, std::chrono::minutes(1));
  Services services{*server.models, workers, std::move(options)};
  std::vector<std::string> order;
  const auto answer = [&](const std::shared_ptr<ApiCall>& call) {
    order.push_back(call->client);
    call->reply("{}");
  };
  const Router router({plain_endpoint("GET", "/who", "who", "Who asks", answer)}, services);
  std::promise<void> busy;
  workers.post([until = busy.get_future().share()] { until.wait(); });
  std::vector<std::shared_ptr<FakeExchange>> exchanges;
  for (const std::string& client : sent) {
    http::Request request;
    request.method = "GET";
    request.path = "/who";
    request.peer = "address of " + client;
    request.headers = {{"X-Client", client}};
    exchanges.push_back(std::make_shared<FakeExchange>(std::move(request)));
    router.handle(exchanges.back());
  }
  busy.set_value();
  for (const auto& exchange : exchanges) CHECK(exchange->wait().status == 200);
  workers.stop();
  return order;
}

TEST_CASE("clients take turns: by what the server says, or by address") {
  using Names = std::vector<std::string>;
  const auto by_header = [](const http::Request& request) {
    return std::string(http::find_header(request.headers, "x-client"));
  };
  CHECK(answered({"a", "a", "a", "b"}, {.client_of = by_header}) == Names{"a", "b", "a", "a"});
  const Names addresses = answered({"a", "a", "b", "c"}, {});
  CHECK(addresses == Names{"address of a", "address of b", "address of c", "address of a"});
  const auto all_one = [](const http::Request&) { return std::string("all"); };
  CHECK(answered({"a", "b"}, {.client_of = all_one}) == Names{"all", "all"});
}

}  // namespace
}  // namespace weft::api::test
