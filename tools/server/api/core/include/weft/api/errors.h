#pragma once
// Errors of requests: a status, and the other members of each interface's error.

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/http/server.h"

namespace weft::api {

// what() is the message. Throw it from handlers and readers of requests.
class ApiError : public Error {
 public:
  // See the members.
  ApiError(int http_status, std::string error_type, const std::string& message,
           std::string field = {}, std::string error_code = {})
      : Error(message),
        status(http_status),
        type(std::move(error_type)),
        param(std::move(field)),
        code(std::move(error_code)) {}

  int status;
  std::string type;                     // in OpenAI's form: "invalid_request_error"
  std::string param;                    // path of the field: "messages[1].content"; empty: null
  std::string code;                     // "context_length_exceeded"; empty: null
  std::optional<int> retry_after = {};  // seconds
};

// 400. The message begins with `param` unless that is empty.
ApiError bad_request(std::string param, std::string_view problem);
ApiError not_found(const std::string& message);
ApiError model_not_found(std::string_view name);
ApiError context_exceeded(std::string param, std::int64_t n_prompt, std::int64_t context);
ApiError not_supported(const std::string& message);                       // 501
ApiError unavailable(const std::string& message, std::string code = {});  // 503 with Retry-After

// The current exception of Weft as an error of the request; an ApiError as it is. PlaceError: 400
// with its place; QueueFullError: 429; BudgetError: 503; ValueError, FormatError, UnsupportedError,
// ChatTemplateError: 400 with `param`; all others: 500.
ApiError as_api_error(std::exception_ptr error, std::string param = {});

// The error of loading a model, as requests for it get it: 500 if the model's file is at fault, not
// the request. Null stays null.
std::exception_ptr load_error(const std::exception_ptr& error);

// The error with `to` in place of `from` in its message.
ApiError with_replaced(const ApiError& error, std::string_view from, std::string_view to);

// The error with file names in place of the paths in `folder`, which clients need not know.
ApiError without_folder(const ApiError& error, std::string_view folder);

// Calls f; errors of Weft that it throws become ApiErrors of the field `param`.
template <class F>
auto naming(const std::string& param, const F& f) {
  try {
    return f();
  } catch (const ApiError&) {
    throw;
  } catch (const Error&) {
    throw as_api_error(std::current_exception(), param);
  }
}

enum class ErrorForm {
  openai,     // {"error": {"message", "type", "param", "code"}}
  anthropic,  // {"type": "error", "error": {"type", "message"}}: paths below /v1/messages
  ollama,     // {"error": "text"}: paths below /api/
};
ErrorForm error_form(std::string_view path);
// Also Anthropic's for paths of several interfaces, if the client names the version of that one.
ErrorForm error_form(const http::RequestHead& head);
// Whether the client asks for Anthropic's form: it names a version of the interface.
bool wants_anthropic_form(const http::RequestHead& head);

std::string error_body(const ApiError& error, ErrorForm form);
// With Retry-After, if the error has it.
http::Reply error_reply(const ApiError& error, ErrorForm form);
// The reply to a request that the HTTP server itself refuses (413, 431, 401, ..), in the form that
// fits the path: its `Hooks::refuse`.
http::Reply refusal_reply(const http::RequestHead& head, const http::Refusal& refusal);

}  // namespace weft::api
