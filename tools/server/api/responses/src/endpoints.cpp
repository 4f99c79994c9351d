#include "weft/responses/endpoints.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "weft/api/chat_job.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"
#include "weft/api/query.h"
#include "weft/base/json_string.h"

#include "includes.h"
#include "input_items.h"
#include "item_references.h"
#include "request.h"
#include "response.h"
#include "store.h"
#include "writer.h"

namespace weft::api {
namespace {

using responses::ChatRequest;
using responses::Request;
using responses::Response;
using responses::Store;

std::vector<ChatMessage> earlier_messages(const Store& store, const ChatRequest& request,
                                          std::string_view owner) {
  if (request.previous_response_id.empty()) return {};
  if (auto conversation = store.conversation(request.previous_response_id, owner))
    return *std::move(conversation);
  ApiError error =
      bad_request("previous_response_id",
                  fmt::format("{} is an unknown or expired response, or has not ended",
                              json_string(request.previous_response_id.substr(0, 100))));
  error.code = "previous_response_not_found";
  throw error;
}

void create(const std::shared_ptr<Store>& store, const std::shared_ptr<ApiCall>& call) {
  const std::string owner = call->owner();
  call->body = responses::with_items(call->body, *store, owner);
  auto response = std::make_shared<Response>(Response{
      .id = new_id("resp_"), .created = unix_seconds(), .model = call->model->name, .request = {}});
  response->request = std::make_shared<const Request>(
      responses::fields().read(*call->body, initial_request<Request>(*call->model)));
  const Request& request = *response->request;
  std::vector<ChatMessage> conversation = earlier_messages(*store, request, owner);
  TextJob job = chat_job(*call->model, responses::chat_turn(request, conversation), request,
                         responses::n_logprobs(request));
  job.prompts.front().likely_again = !request.prompt_cache_key.empty();
  conversation.insert(conversation.end(), request.input.begin(), request.input.end());

  const std::string id = response->id;
  const auto ended = [store, id, keep = request.store, conversation = std::move(conversation)](
                         std::string json, ChatMessage answer) mutable {
    if (!keep || json.empty()) {
      store->drop_running(id);
      return;
    }
    conversation.push_back(std::move(answer));
    store->finish(id, std::move(json), std::move(conversation));
  };
  store->begin(id, responses::response_json(*response, {}),
               request.store ? responses::input_items(*call->body) : "[]", request.store, owner);
  try {
    store->set_cancel(id, run_texts(call, std::move(job),
                                    std::make_shared<responses::Writer>(call, response, ended)));
  } catch (...) {
    store->remove(id, owner);
    throw;
  }
}

void count(const Store& store, const ApiCall& call) {
  const std::string owner = call.owner();
  const auto body = responses::with_items(call.body, store, owner);
  const ChatRequest request = responses::chat_fields().read(*body);
  const ChatPlan prompt = plan_chat(
      *call.model, responses::chat_turn(request, earlier_messages(store, request, owner)));
  call.reply(JsonObject()
                 .add("object", "response.input_tokens")
                 .add("input_tokens", prompt.tokens.size())
                 .str());
}

ApiError unknown_response(const std::string& id) {
  return not_found(fmt::format("no response {} is kept here", json_string(id.substr(0, 100))));
}

void retrieve(const Store& store, const ApiCall& call) {
  if (query_value(call.request(), "stream") == "true")
    throw bad_request("stream", "responses are not streamed again");
  responses::check_includes(call.request());
  std::optional<std::string> json = store.json(call.parameter, call.owner());
  if (!json) throw unknown_response(call.parameter);
  call.reply(*std::move(json));
}

void list_input(const Store& store, const ApiCall& call) {
  responses::check_includes(call.request());
  const std::optional<std::string> items = store.input(call.parameter, call.owner());
  if (!items) throw unknown_response(call.parameter);
  call.reply(responses::page_of_items(*items, call));
}

// A response that has ended stays as it is.
void cancel(Store& store, const ApiCall& call) {
  const std::optional<std::string> json = store.json(call.parameter, call.owner());
  if (!json) throw unknown_response(call.parameter);
  Json response = parse_json(*json);
  response["status"] = "cancelled";
  if (!store.cancel(call.parameter, to_text(response), call.owner()))
    throw bad_request("", "the response has ended and cannot be cancelled");
  call.reply(to_text(response));
}

void remove(Store& store, const ApiCall& call) {
  if (!store.remove(call.parameter, call.owner())) throw unknown_response(call.parameter);
  call.reply(
      JsonObject().add("id", call.parameter).add("object", "response").add("deleted", true).str());
}

}  // namespace

std::vector<Endpoint> responses_endpoints() {
  const auto store = std::make_shared<Store>();
  std::vector<Endpoint> endpoints;
  endpoints.push_back(text_endpoint(
      "/v1/responses", "createResponse", "Answers a text or a conversation",
      [store](const std::shared_ptr<ApiCall>& call) { create(store, call); }, responses::fields()));
  endpoints.push_back(post_endpoint(
      "/v1/responses/input_tokens", "countResponseTokens",
      "Counts the tokens that the same request has as a prompt",
      [store](const std::shared_ptr<ApiCall>& call) { count(*store, *call); },
      responses::chat_fields()));
  endpoints.push_back(
      plain_endpoint("GET", "/v1/responses/{id}", "getResponse", "A response that is kept",
                     [store](const std::shared_ptr<ApiCall>& call) { retrieve(*store, *call); }));
  endpoints.push_back(
      plain_endpoint("DELETE", "/v1/responses/{id}", "deleteResponse",
                     "Forgets a response, and cancels it if it is running",
                     [store](const std::shared_ptr<ApiCall>& call) { remove(*store, *call); }));
  endpoints.push_back(plain_endpoint(
      "GET", "/v1/responses/{id}/input_items", "listResponseInput", "The input of a response",
      [store](const std::shared_ptr<ApiCall>& call) { list_input(*store, *call); }));
  endpoints.push_back(
      plain_endpoint("POST", "/v1/responses/{id}/cancel", "cancelResponse",
                     "Ends a response that is running, and keeps it as cancelled",
                     [store](const std::shared_ptr<ApiCall>& call) { cancel(*store, *call); }));
  return endpoints;
}

}  // namespace weft::api
