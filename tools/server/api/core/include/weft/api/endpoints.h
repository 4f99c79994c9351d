#pragma once
// The table of endpoints, and the steps around each: find the endpoint, read the body, find the
// model, run the handler on a preparing thread, answer errors in the form of the interface.
// /openapi.json is made from the same table.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/context.h"
#include "weft/api/errors.h"
#include "weft/api/fields.h"
#include "weft/http/exchange.h"

namespace weft::api {

// One request of an endpoint.
struct ApiCall {
  std::shared_ptr<http::Exchange> exchange;
  Services& services;
  ErrorForm form = ErrorForm::openai;
  std::shared_ptr<const Json> body = {};  // an object; null for endpoints without `request`, and
                                          // after `handle` has returned
  std::shared_ptr<const ServedModel> model = {};  // if the endpoint uses a model
  std::string parameter = {};                     // the value of "{id}" in the path
  std::string client = {};                        // ApiOptions::client_of()
  // Set when the client leaves while the request is prepared.
  std::shared_ptr<std::atomic<bool>> client_left = std::make_shared<std::atomic<bool>>(false);

  const http::Request& request() const { return exchange->request(); }
  // Whose texts the request may see and makes, narrowed by its `cache_salt`: TextRequest::owner.
  std::string owner(std::string_view salt = {}) const;
  void reply(std::string json, int status = 200) const;
  // Answers the error, without the paths of model files.
  void fail(const ApiError& error) const;
};

enum class ModelUse {
  none,
  // The one that the body's member "model" names, or the query's if there is no body; absent: the
  // only one.
  named,
  // The same, but a model that is not loaded is not loaded for it: ApiCall::model is then null.
  loaded,
  // As named, but a name that no model has is an error even if only one model is served. The tag
  // ":latest" may follow the name.
  listed,
};

// May throw; the answer is then the error. It may keep the call (as a shared_ptr) to answer later.
using Handle = std::function<void(std::shared_ptr<ApiCall>)>;

struct Endpoint {
  std::string method;  // "POST"
  // "/v1/models/{id}": the parameter takes the rest of the path, or what is before a suffix.
  std::string path;
  std::string operation;  // operationId, unique
  std::string summary;
  Handle handle;
  const FieldList* request = nullptr;  // fields of the body; null: the body is not read
  ModelUse model = ModelUse::none;
  // Runs at once on the thread of the server: for answers that need neither time nor locks, which
  // must come while all preparing threads are busy.
  bool quick = false;
  bool body_optional = false;             // an empty body is an empty object
  bool generates = false;                 // runs texts of an engine
  std::vector<std::string> aliases = {};  // other paths, not documented
  std::string answer_type = "application/json";
};

// An endpoint that reads no body and uses no model.
Endpoint plain_endpoint(std::string method, std::string path, std::string operation,
                        std::string summary, Handle handle);
// A POST with a body. `request` must outlive the endpoint.
Endpoint post_endpoint(std::string path, std::string operation, std::string summary, Handle handle,
                       const FieldList& request, ModelUse model = ModelUse::named);
// The same, and the handler runs texts of an engine.
Endpoint text_endpoint(std::string path, std::string operation, std::string summary, Handle handle,
                       const FieldList& request, ModelUse model = ModelUse::named);

class Router {
 public:
  // Throws ValueError if two endpoints have the same method and path, or the same operation.
  Router(std::vector<Endpoint> endpoints, Services& services);
  // A Handler of http: answers now or later. HEAD is answered like GET; 404, 405 with Allow, and
  // 415 are decided here.
  void handle(std::shared_ptr<http::Exchange> exchange) const;
  // The document of /openapi.json, which the router serves, too.
  const std::string& openapi() const { return openapi_; }
  std::vector<std::string> allowed_methods(std::string_view path) const;
  // 404, 405 with Allow, or 415, from the head alone; nothing if an endpoint answers. For the
  // server of HTTP, which can refuse a request before its body comes.
  std::optional<http::Reply> refusal(const http::RequestHead& head) const;
  // Whether an endpoint that runs texts of an engine answers.
  bool generates(const http::RequestHead& head) const;

 private:
  struct Found {
    const Endpoint* endpoint = nullptr;
    std::string parameter;
    bool known_path = false;
  };
  Found find(std::string_view method, std::string_view path) const;
  void prepare(const Endpoint& endpoint, const std::shared_ptr<ApiCall>& call) const;

  std::vector<Endpoint> endpoints_;
  Services& services_;
  std::string openapi_;
};

}  // namespace weft::api
