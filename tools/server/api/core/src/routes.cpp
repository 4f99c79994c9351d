#include "weft/api/routes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/listed_model.h"
#include "weft/api/query.h"
#include "weft/api/workers.h"
#include "weft/base/json_string.h"
#include "weft/base/text.h"
#include "weft/http/media.h"

#include "openapi.h"

namespace weft::api {
namespace {

// The value of "{id}", the last part of a pattern, in `path`; empty if the path does not match.
std::string_view parameter_of(std::string_view pattern, std::string_view path) {
  const std::size_t brace = pattern.find('{');
  if (brace == pattern.npos || !path.starts_with(pattern.substr(0, brace))) return {};
  return path.substr(brace);
}

bool answers(const Route& route, std::string_view method) {
  return route.method == method || (method == "HEAD" && route.method == "GET");
}

bool has_path(const Route& route, std::string_view path) {
  return route.path == path || std::ranges::find(route.aliases, path) != route.aliases.end();
}

std::string member_model(const Json& body) {
  const auto model = body.find("model");
  if (model == body.end() || model->is_null()) return {};
  if (!model->is_string()) refuse(Path().member("model"), "a text", *model);
  return model->get<std::string>();
}

std::string wanted_model(const Route& route, const Call& call) {
  std::string name = call.body ? member_model(*call.body) : query_value(call.request(), "model");
  if (route.model == ModelUse::listed && !name.empty())
    return listed_model(call.services.models, name).name;
  return name;
}

void run_handler(const Route& route, const std::shared_ptr<Call>& call) {
  try {
    route.handle(call);
    call->body.reset();  // it is large, and the answer may take long
  } catch (...) {
    call->fail(as_api_error(std::current_exception()));
  }
}

void check(const std::vector<Route>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Route &a = routes[k], &b = routes[i];
      if ((a.method == b.method && a.path == b.path) || a.operation == b.operation)
        fail<ValueError>("two routes are {} {} ({}, {})", b.method, b.path, a.operation,
                         b.operation);
    }
}

}  // namespace

void Call::reply(std::string json, int status) const {
  exchange->reply({.status = status, .body = std::move(json)});
}

void Call::fail(const ApiError& error) const {
  exchange->reply(error_reply(without_paths(error, services.models), form));
}

Route plain_route(std::string method, std::string path, std::string operation, std::string summary,
                  Handle handle) {
  Route route;
  route.method = std::move(method);
  route.path = std::move(path);
  route.operation = std::move(operation);
  route.summary = std::move(summary);
  route.handle = std::move(handle);
  return route;
}

Route post_route(std::string path, std::string operation, std::string summary, Handle handle,
                 const FieldList& request, ModelUse model) {
  Route route = plain_route("POST", std::move(path), std::move(operation), std::move(summary),
                            std::move(handle));
  route.request = &request;
  route.model = model;
  return route;
}

Route text_route(std::string path, std::string operation, std::string summary, Handle handle,
                 const FieldList& request, ModelUse model) {
  Route route = post_route(std::move(path), std::move(operation), std::move(summary),
                           std::move(handle), request, model);
  route.generates = true;
  return route;
}

Router::Router(std::vector<Route> routes, Services& services)
    : routes_(std::move(routes)), services_(services) {
  routes_.push_back(
      plain_route("GET", "/openapi.json", "getOpenApi", "This document",
                  [this](const std::shared_ptr<Call>& call) { call->reply(openapi_); }));
  routes_.back().quick = true;
  check(routes_);
  openapi_ = openapi_document(routes_, services.options.version);
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
  Found found;
  for (const Route& route : routes_) {
    if (!has_path(route, path)) continue;
    found.known_path = true;
    if (answers(route, method)) return {&route, {}, true};
  }
  if (found.known_path) return found;
  for (const Route& route : routes_) {
    const std::string_view parameter = parameter_of(route.path, path);
    if (parameter.empty()) continue;
    found.known_path = true;
    if (answers(route, method)) return {&route, std::string(parameter), true};
  }
  return found;
}

std::vector<std::string> Router::allowed_methods(std::string_view path) const {
  std::vector<std::string> methods;
  for (const Route& route : routes_) {
    if (!has_path(route, path) && parameter_of(route.path, path).empty()) continue;
    methods.push_back(route.method);
    if (route.method == "GET") methods.emplace_back("HEAD");
  }
  return methods;
}

std::optional<http::Reply> Router::refusal(const http::RequestHead& head) const {
  const ErrorForm form = error_form(head.path);
  const Found found = find(head.method, head.path);
  if (!found.known_path)
    return error_reply(
        not_found(fmt::format("unknown path {}", json_string(head.path.substr(0, 200)))), form);
  if (!found.route) {
    const std::string allow = fmt::format("{}", fmt::join(allowed_methods(head.path), ", "));
    http::Reply reply =
        error_reply(ApiError(405, "invalid_request_error",
                             fmt::format("{} answers {}, not {}", head.path, allow, head.method)),
                    form);
    reply.headers.emplace_back("Allow", allow);
    return reply;
  }
  if (found.route->request && !http::may_be_json(head)) {
    const std::string_view type = http::find_header(head.headers, "content-type");
    return error_reply(ApiError(415, "invalid_request_error",
                                fmt::format("the body must be application/json, got {}",
                                            json_string(type.substr(0, 100)))),
                       form);
  }
  return std::nullopt;
}

bool Router::generates(const http::RequestHead& head) const {
  const Route* route = find(head.method, head.path).route;
  return route && route->generates;
}

void Router::handle(std::shared_ptr<http::Exchange> exchange) const {
  const http::Request& request = exchange->request();
  if (std::optional<http::Reply> refused = refusal(request)) {
    exchange->reply(std::move(*refused));
    return;
  }
  Found found = find(request.method, request.path);
  auto call = std::make_shared<Call>(Call{.exchange = std::move(exchange),
                                          .services = services_,
                                          .form = error_form(request.path),
                                          .parameter = std::move(found.parameter)});
  const Route& route = *found.route;
  if (route.quick) {
    run_handler(route, call);
  } else if (!services_.workers.post_new([this, &route, call] { prepare(route, call); })) {
    ApiError busy(429, "rate_limit_error", "too many requests wait", {}, "queue_full");
    busy.retry_after = 1;
    call->fail(busy);
  }
}

// On a preparing thread.
void Router::prepare(const Route& route, const std::shared_ptr<Call>& call) const {
  try {
    if (route.request) {
      const std::string& text = call->request().body;
      const bool empty = route.body_optional && trim(text).empty();
      call->body = std::make_shared<const Json>(empty ? Json::object() : parse_body(text));
    }
    if (route.model == ModelUse::none) return run_handler(route, call);
    const auto ready = [this, &route, call](std::shared_ptr<const ServedModel> model,
                                            const std::exception_ptr& error) {
      if (error) return call->fail(as_api_error(error, "model"));
      call->model = std::move(model);
      services_.workers.post([&route, call] { run_handler(route, call); });
    };
    services_.models.find(wanted_model(route, *call), ready);
  } catch (...) {
    call->fail(as_api_error(std::current_exception()));
  }
}

}  // namespace weft::api
