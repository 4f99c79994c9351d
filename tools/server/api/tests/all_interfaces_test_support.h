#pragma once
// For tests of all interfaces over their routes, with fake texts.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/anthropic/routes.h"
#include "weft/api/json.h"
#include "weft/native/routes.h"
#include "weft/ollama/routes.h"
#include "weft/responses/routes.h"

#include "api_test_support.h"

namespace weft::api::test {

inline std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (auto& routes : {openai_routes(), responses_routes(), anthropic_routes(), ollama_routes(),
                       native_routes({.slot_save_path = "/tmp"})})
    std::ranges::copy(routes, std::back_inserter(all));
  return all;
}

struct Interfaces : FakeServer {
  Interfaces() {
    router = std::make_unique<Router>(all_routes(), *services);
    texts->texts = {"You are welcome!"};
  }
  Json ask(std::string path, std::string body, int status = 200) {
    const http::Reply reply = post(path, std::move(body));
    CAPTURE(path);
    CHECK_MESSAGE(reply.status == status, reply.body);
    return parse_json(reply.body);
  }
  Json get(std::string method, std::string path, int status = 200) {
    const http::Reply reply = send(std::move(method), std::move(path))->wait();
    CHECK_MESSAGE(reply.status == status, reply.body);
    return parse_json(reply.body);
  }
};

inline const std::string kMessages = R"("messages": [{"role": "user", "content": "Thank you."}])";

}  // namespace weft::api::test
