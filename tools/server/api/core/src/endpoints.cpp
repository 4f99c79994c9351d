#include "weft/api/endpoints.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/listed_model.h"
#include "weft/api/query.h"
#include "weft/api/workers.h"
#include "weft/base/json_string.h"
#include "weft/base/ledger.h"
#include "weft/base/text.h"
#include "weft/grammar/compile_limits.h"
#include "weft/http/media.h"

#include "openapi.h"

namespace weft::api {
namespace {

// The value of "{id}" of a pattern in `path`; empty if the path does not match.
std::string_view parameter_of(std::string_view pattern, std::string_view path) {
  const std::size_t brace = pattern.find('{');
  if (brace == pattern.npos || !path.starts_with(pattern.substr(0, brace))) return {};
  const std::string_view rest = path.substr(brace);
  const std::string_view suffix = pattern.substr(pattern.find('}') + 1);
  if (!rest.ends_with(suffix)) return {};
  return rest.substr(0, rest.size() - suffix.size());
}

// How exactly a path fits an endpoint: the best fit of all endpoints counts.
enum class Fit { none, rest, suffix, whole };

bool answers(const Endpoint& endpoint, std::string_view method) {
  return endpoint.method == method || (method == "HEAD" && endpoint.method == "GET");
}

bool has_path(const Endpoint& endpoint, std::string_view path) {
  return endpoint.path == path ||
         std::ranges::find(endpoint.aliases, path) != endpoint.aliases.end();
}

Fit fit_of(const Endpoint& endpoint, std::string_view path) {
  if (has_path(endpoint, path)) return Fit::whole;
  if (parameter_of(endpoint.path, path).empty()) return Fit::none;
  return endpoint.path.ends_with('}') ? Fit::rest : Fit::suffix;
}

// The endpoints that fit a path best.
std::vector<const Endpoint*> best_of(const std::vector<Endpoint>& endpoints,
                                     std::string_view path) {
  std::vector<const Endpoint*> all;
  Fit best = Fit::rest;
  for (const Endpoint& endpoint : endpoints) {
    const Fit fit = fit_of(endpoint, path);
    if (fit < best) continue;
    if (fit > best) all.clear();
    best = fit;
    all.push_back(&endpoint);
  }
  return all;
}

std::string member_model(const Json& body) {
  const auto model = body.find("model");
  if (model == body.end() || model->is_null()) return {};
  if (!model->is_string()) refuse(Path().member("model"), "a text", *model);
  return model->get<std::string>();
}

std::string wanted_model(const Endpoint& endpoint, const ApiCall& call) {
  std::string name = call.body ? member_model(*call.body) : query_value(call.request(), "model");
  if (endpoint.model == ModelUse::listed && !name.empty())
    return listed_model(call.services.models, name).name;
  return name;
}

void run_handler(const Endpoint& endpoint, const std::shared_ptr<ApiCall>& call) {
  try {
    const LimitedCompilation limits({.cancel = call->client_left.get(), .scope = call->owner()});
    endpoint.handle(call);
    call->body.reset();  // it is large, and the answer may take long
  } catch (...) {
    call->fail(as_api_error(std::current_exception()));
  }
}

void check(const std::vector<Endpoint>& endpoints) {
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Endpoint &a = endpoints[k], &b = endpoints[i];
      if ((a.method == b.method && a.path == b.path) || a.operation == b.operation)
        fail<ValueError>("two endpoints are {} {} ({}, {})", b.method, b.path, a.operation,
                         b.operation);
    }
}

}  // namespace

std::string ApiCall::owner(std::string_view salt) const {
  const auto& owner_of = services.options.owner_of;
  std::string owner = owner_of ? owner_of(request()) : "";
  if (!salt.empty()) owner.append("\n").append(salt);
  return owner;
}

void ApiCall::reply(std::string json, int status) const {
  exchange->reply({.status = status, .body = std::move(json)});
}

void ApiCall::fail(const ApiError& error) const {
  exchange->reply(error_reply(without_paths(error, services.models), form));
}

Endpoint plain_endpoint(std::string method, std::string path, std::string operation,
                        std::string summary, Handle handle) {
  Endpoint endpoint;
  endpoint.method = std::move(method);
  endpoint.path = std::move(path);
  endpoint.operation = std::move(operation);
  endpoint.summary = std::move(summary);
  endpoint.handle = std::move(handle);
  return endpoint;
}

Endpoint post_endpoint(std::string path, std::string operation, std::string summary, Handle handle,
                       const FieldList& request, ModelUse model) {
  Endpoint endpoint = plain_endpoint("POST", std::move(path), std::move(operation),
                                     std::move(summary), std::move(handle));
  endpoint.request = &request;
  endpoint.model = model;
  return endpoint;
}

Endpoint text_endpoint(std::string path, std::string operation, std::string summary, Handle handle,
                       const FieldList& request, ModelUse model) {
  Endpoint endpoint = post_endpoint(std::move(path), std::move(operation), std::move(summary),
                                    std::move(handle), request, model);
  endpoint.generates = true;
  return endpoint;
}

Router::Router(std::vector<Endpoint> endpoints, Services& services)
    : endpoints_(std::move(endpoints)), services_(services) {
  endpoints_.push_back(
      plain_endpoint("GET", "/openapi.json", "getOpenApi", "This document",
                     [this](const std::shared_ptr<ApiCall>& call) { call->reply(openapi_); }));
  endpoints_.back().quick = true;
  check(endpoints_);
  openapi_ = openapi_document(endpoints_, services.options.version);
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
  const std::vector<const Endpoint*> known = best_of(endpoints_, path);
  for (const Endpoint* endpoint : known) {
    if (!answers(*endpoint, method)) continue;
    const bool whole = has_path(*endpoint, path);
    return {endpoint, whole ? "" : std::string(parameter_of(endpoint->path, path)), true};
  }
  return {.known_path = !known.empty()};
}

std::vector<std::string> Router::allowed_methods(std::string_view path) const {
  std::vector<std::string> methods;
  for (const Endpoint* endpoint : best_of(endpoints_, path)) {
    methods.push_back(endpoint->method);
    if (endpoint->method == "GET") methods.emplace_back("HEAD");
  }
  return methods;
}

std::optional<http::Reply> Router::refusal(const http::RequestHead& head) const {
  const ErrorForm form = error_form(head);
  const Found found = find(head.method, head.path);
  if (!found.known_path)
    return error_reply(
        not_found(fmt::format("unknown path {}", json_string(head.path.substr(0, 200)))), form);
  if (!found.endpoint) {
    const std::string allow = fmt::format("{}", fmt::join(allowed_methods(head.path), ", "));
    http::Reply reply =
        error_reply(ApiError(405, "invalid_request_error",
                             fmt::format("{} answers {}, not {}", head.path, allow, head.method)),
                    form);
    reply.headers.emplace_back("Allow", allow);
    return reply;
  }
  if (found.endpoint->request && !http::may_be_json(head)) {
    const std::string_view type = http::find_header(head.headers, "content-type");
    return error_reply(ApiError(415, "invalid_request_error",
                                fmt::format("the body must be application/json, got {}",
                                            json_string(type.substr(0, 100)))),
                       form);
  }
  return std::nullopt;
}

bool Router::generates(const http::RequestHead& head) const {
  const Endpoint* endpoint = find(head.method, head.path).endpoint;
  return endpoint && endpoint->generates;
}

void Router::handle(std::shared_ptr<http::Exchange> exchange) const {
  const http::Request& request = exchange->request();
  if (std::optional<http::Reply> refused = refusal(request)) {
    exchange->reply(std::move(*refused));
    return;
  }
  Found found = find(request.method, request.path);
  auto call = std::make_shared<ApiCall>(ApiCall{.exchange = std::move(exchange),
                                                .services = services_,
                                                .form = error_form(request),
                                                .parameter = std::move(found.parameter)});
  const Endpoint& endpoint = *found.endpoint;
  if (endpoint.quick) return run_handler(endpoint, call);
  call->exchange->on_client_left([left = call->client_left] { *left = true; });
  const auto& client_of = services_.options.client_of;
  call->client = client_of ? client_of(call->request()) : call->request().peer;
  if (!services_.workers.post_new([this, &endpoint, call] { prepare(endpoint, call); },
                                  call->client)) {
    ApiError busy(429, "rate_limit_error", "too many requests wait", {}, "queue_full");
    busy.retry_after = 1;
    call->fail(busy);
  }
}

namespace {

bool is_unloaded(const Models& models, std::string_view name) {
  const std::vector<ListedModel> all = models.list();
  const auto is_it = [&](const ListedModel& m) { return std::ranges::count(m.aliases, name) > 0; };
  const auto model = std::ranges::find_if(all, is_it);
  return model != all.end() && model->status == "unloaded";
}

struct ParsedBody {
  Json json;
  Taken memory{Account::bodies};
};

}  // namespace

// On a preparing thread.
void Router::prepare(const Endpoint& endpoint, const std::shared_ptr<ApiCall>& call) const {
  if (*call->client_left) return;  // while it waited
  try {
    if (endpoint.request) {
      const std::string& text = call->request().body;
      const bool empty = endpoint.body_optional && trim(text).empty();
      auto parsed = std::make_shared<ParsedBody>();
      parsed->json = empty ? Json::object() : parse_body(text, &parsed->memory);
      call->body = std::shared_ptr<const Json>(parsed, &parsed->json);
    }
    if (endpoint.model == ModelUse::none) return run_handler(endpoint, call);
    const auto ready = [this, &endpoint, call](std::shared_ptr<const ServedModel> model,
                                               const std::exception_ptr& error) {
      if (error) return call->fail(as_api_error(error, "model"));
      call->model = std::move(model);
      services_.workers.post([&endpoint, call] { run_handler(endpoint, call); }, call->client);
    };
    const std::string wanted = wanted_model(endpoint, *call);
    if (endpoint.model == ModelUse::loaded && is_unloaded(services_.models, wanted))
      return run_handler(endpoint, call);
    services_.models.find(wanted, ready);
  } catch (...) {
    call->fail(as_api_error(std::current_exception()));
  }
}

}  // namespace weft::api
