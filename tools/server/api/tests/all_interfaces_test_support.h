#pragma once
// For tests of all interfaces over their endpoints, with fake texts.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/anthropic/endpoints.h"
#include "weft/api/json.h"
#include "weft/native/endpoints.h"
#include "weft/ollama/endpoints.h"
#include "weft/responses/endpoints.h"

#include "api_test_support.h"

namespace weft::api::test {

inline std::vector<Endpoint> all_endpoints() {
  std::vector<Endpoint> all;
  for (auto& endpoints : {openai_endpoints(), responses_endpoints(), anthropic_endpoints(),
                          ollama_endpoints(), native_endpoints({.slot_save_path = "/tmp"})})
    std::ranges::copy(endpoints, std::back_inserter(all));
  return all;
}

struct Interfaces : FakeServer {
  Interfaces() {
    router = std::make_unique<Router>(all_endpoints(), *services);
    texts->texts = {"You are welcome!"};
  }
  Json ask(std::string path, std::string body, int status = 200) {
    const http::Reply reply = post(path, std::move(body));
    CAPTURE(path);
    CHECK_MESSAGE(reply.status == status, reply.body);
    return parse_json(reply.body);
  }
  Json get(std::string method, const std::string& path, int status = 200) {
    const http::Reply reply = send(std::move(method), path)->wait();
    CHECK_MESSAGE(reply.status == status, reply.body);
    return parse_json(reply.body);
  }
};

inline const std::string kMessages = R"("messages": [{"role": "user", "content": "Thank you."}])";

}  // namespace weft::api::test
