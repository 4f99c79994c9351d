// Serves a model over HTTP from a program of your own, with OpenAI's and Anthropic's endpoints:
//
//   embedded_server MODEL.gguf [PORT]
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "weft/anthropic/endpoints.h"
#include "weft/api/context.h"
#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/workers.h"
#include "weft/http/access.h"
#include "weft/http/server.h"
#include "weft/openai/endpoints.h"
#include "weft/run/model.h"
#include "weft/serve/engine.h"

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: embedded_server MODEL.gguf [PORT]\n";
    return 2;
  }
  const auto model = weft::Model::load(argv[1]);
  auto engine = std::make_shared<weft::Engine>(model, weft::EngineOptions{.slots = 2});
  const auto models = weft::api::one_model(
      weft::api::served_model("mine", model, std::move(engine),
                              weft::chat_format(model->tokenizer(), model->vocabulary())));
  weft::api::Workers workers;
  weft::api::Services services{*models, workers};

  std::vector<weft::api::Endpoint> endpoints = weft::api::openai_endpoints();
  std::ranges::move(weft::api::anthropic_endpoints(), std::back_inserter(endpoints));
  const weft::api::Router router(std::move(endpoints), services);

  // Requests of web pages from elsewhere, and under other names of this machine, are refused.
  const weft::http::Access access({.hosts = weft::http::names_of_this_machine()},
                                  weft::api::refusal_reply);
  weft::http::Hooks hooks;
  hooks.gate = [&access](const auto& head) { return access.check(head); };
  hooks.answer_headers = [&access](const auto& head) { return access.answer_headers(head); };
  hooks.handler = [&router](auto exchange) { router.handle(std::move(exchange)); };
  hooks.refuse = weft::api::refusal_reply;
  weft::http::Server server({.port = argc > 2 ? std::atoi(argv[2]) : 8080}, std::move(hooks));
  std::cout << server.url() << std::endl;
  server.run();  // until the process ends
  return 0;
} catch (const std::exception& error) {
  std::cerr << "embedded_server: " << error.what() << '\n';
  return 1;
}
